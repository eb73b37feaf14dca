// The curve: how often the model was right on sentences before it learned from them, and how right it thought it was.

import { percent } from "./text.js";

const WIDE = 240;
const HIGH = 120;
const LEFT = 36;
const BOTTOM = 18;
const TOP = 8;
const RIGHT = 8;

/** Draw the curve into an SVG element and say it in words. */
export function drawCurve(svg, words, points) {
  const last = points.at(-1);
  words.replaceChildren();
  svg.toggleAttribute("hidden", !last);
  if (!last) {
    svg.replaceChildren();
    words.textContent = "The curve begins with the first accepted sentences.";
    return;
  }
  const most = Math.max(last.accepted, 1);
  const x = (accepted) => LEFT + (accepted / most) * (WIDE - LEFT - RIGHT);
  const y = (share) => TOP + (1 - share) * (HIGH - TOP - BOTTOM);
  const right = percent(last.score);
  const sure = last.sure == null ? "" : percent(last.sure);
  svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  svg.setAttribute("aria-label",
    `After ${last.accepted} accepted sentences the model was right on ${right} of what it was corrected on${sure && `, and ${sure} sure`}.`);
  svg.replaceChildren(
    ...[0, 0.5, 1].flatMap((share) => [
      shape("line", { class: "grid", x1: LEFT, x2: WIDE - RIGHT, y1: y(share), y2: y(share) }),
      label(LEFT - 5, y(share) + 3.5, `${share * 100}%`, "end"),
    ]),
    label(LEFT, HIGH - 4, "0", "start"),
    label(WIDE - RIGHT, HIGH - 4, `${last.accepted} accepted`, "end"),
    line("sure", points.filter((point) => point.sure != null).map((point) => [x(point.accepted), y(point.sure)])),
    line("score", points.map((point) => [x(point.accepted), y(point.score)])),
    shape("circle", { class: "score", cx: x(last.accepted), cy: y(last.score), r: 3 }),
  );
  words.append(...legend("score", `right ${right}`), ...(sure ? legend("sure", `sure ${sure}`) : []));
}

function line(name, places) {
  return shape("polyline", { class: name, points: places.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ") });
}

function label(x, y, text, anchor) {
  const element = shape("text", { x, y, "text-anchor": anchor });
  element.textContent = text;
  return element;
}

function shape(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

function legend(name, text) {
  const key = document.createElement("span");
  key.className = `legend ${name}`;
  key.textContent = text;
  return [key, " "];
}
