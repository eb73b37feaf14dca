// Begin: ask for the project and the person's name, then connect the parts of the page.

import { ask } from "./api.js";
import { Author } from "./author.js";
import { byId } from "./dom.js";
import { listen } from "./events.js";
import { Feed } from "./feed.js";
import { History } from "./history.js";
import { drawHelp, keyTable, listenToKeys } from "./keys.js";
import { List } from "./list.js";
import { Locks } from "./locks.js";
import { notify } from "./notices.js";
import { Palette } from "./palette.js";
import { Panel } from "./panel.js";
import { Picker } from "./picker.js";
import { Pointer } from "./pointer.js";
import { Project } from "./project.js";
import { Shelf } from "./shelf.js";
import { Splitter } from "./splitter.js";
import { points } from "./text.js";
import { Others } from "./others.js";
import { Toolbar } from "./toolbar.js";
import { Work } from "./work.js";

async function begin() {
  const author = new Author();
  const project = new Project(await ask("/api/project"), author);
  if (!author.name) await author.ask(project.data.people);
  const locks = new Locks(author, (id, holder) => others.locked(id, holder));
  const list = new List(byId("list"), project.kind, project.hues, () => author.name, {
    seen: (rows) => others.look(rows),
    moved,
    end: () => feed.more(),
  });
  const feed = new Feed(list, author, (item) => work.adopt(item));
  const work = new Work({ project, list, feed, history: new History(), shelf: new Shelf(project.data.name), author, locks });
  const others = new Others(work, project, list, author, locks);
  const palette = new Palette(project, { label, clear, pick, split, keep });
  const panel = new Panel(project.hues, palette.bar, choose);
  const pointer = new Pointer(list, byId("tip"), { selected, action, part });
  const splitter = new Splitter((places) => change(() => cut(places)), () => list.current?.text.focus({ preventScroll: true }));
  const picker = new Picker(project, picked, () => list.current?.text.focus({ preventScroll: true }));

  function moved(row, before) {
    work.tidy(before);
    if (before && !before.sentence.draft && !before.sentence.waiting) locks.release(before.id);
    if (row.sentence.todo && !work.holder(row)) locks.soon(row.id);
    if (panel.row !== row) panel.close();
    palette.hideBar();
    pointer.hint(null);
  }

  /** Change the tags, then put away what was there to change them. */
  function change(run) {
    if (!list.current) return;
    run();
    palette.hideBar();
    pointer.hint(null);
    list.current.text.focus({ preventScroll: true });
  }

  function label(name) {
    change(() => work.label(name));
  }

  function clear() {
    change(() => work.clear());
  }

  function choose(tags) {
    change(() => work.take(tags));
    panel.close();
  }

  function accept() {
    palette.hideBar();
    panel.close();
    pointer.hint(null);
    work.accept();
  }

  async function takeOver() {
    await work.takeOver();
    list.current?.text.focus({ preventScroll: true });
  }

  function pick() {
    if (!list.current) return;
    palette.hideBar();
    picker.open(list.current.token(list.head).getBoundingClientRect());
  }

  async function picked(name, isNew) {
    if (!isNew || (await palette.add(name))) label(name);
  }

  function more({ focus = true } = {}) {
    const row = list.current;
    if (!row) return;
    if (panel.row === row && focus) panel.close();
    else panel.open(row, list.range()[0], { focus });
  }

  /** A word was pressed: on a span, show what else it could be; on others, the labels to give. */
  function selected(row, dragged) {
    const [from, to] = list.range();
    const onSpan = !dragged && (project.kind === "tags" || row.sentence.spans().some((span) => span.from === from && span.to === to));
    if (onSpan) panel.open(row, project.kind === "tags" ? list.head : from, { labels: true });
    else panel.close();
    palette.showBar(row, [from, to]);
  }

  /** A part of the word at the cursor was pressed twice: cut the word, and select the part. */
  function part(from, to) {
    if (project.kind === "spans") cut([from, to]);
  }

  /** Cut the word at the cursor before some of its UTF-16 units; the part after the first cut, or the first, is selected. */
  function cut(units) {
    const { sentence } = list.current;
    const at = list.head;
    const { word } = sentence.pieces[at];
    const [start] = sentence.tokens[at];
    const before = sentence.length;
    work.cut(units.filter((unit) => unit > 0 && unit < word.length).map((unit) => start + points(word, unit)));
    if (sentence.length === before) return; // another person has the sentence
    const head = at + (units[0] > 0 ? 1 : 0);
    list.select(head, head, true);
  }

  function split() {
    if (project.kind !== "spans" || !list.current || work.isTaken(list.current)) return;
    palette.hideBar();
    splitter.open(list.current.sentence.pieces[list.head].word);
  }

  /** Add the marked words to a list of names. */
  async function keep(kind) {
    const [from, to] = list.range();
    const { tokens, view } = list.current.sentence;
    const name = [...view.text].slice(tokens[from][0], tokens[to - 1][1]).join("");
    palette.hideBar();
    try {
      project.take(await ask("/api/names", { list: kind, name, author: author.name }));
      notify(`“${name}” is in the list ${kind} now.`);
    } catch (error) {
      notify(`The name was not added. ${error.message}`, { error: true });
    }
    list.current?.text.focus({ preventScroll: true });
  }

  function action(row, button) {
    if (row !== list.current) list.go(row, { scroll: false });
    if (button.dataset.action === "accept") accept();
    else if (button.dataset.action === "take-over") takeOver();
    else if (button.dataset.action === "more") more();
    else change(() => work.take(row.sentence.options[button.dataset.option].tags));
  }

  function escape() {
    palette.hideBar();
    panel.close();
    pointer.hint(null);
    if (!list.current) return;
    work.tidy(list.current);
    list.select(list.head, list.head);
    list.current.text.focus({ preventScroll: true });
  }

  const table = keyTable({
    list, pick, clear, split, accept, takeOver, more: () => more(), escape,
    moveTo: (token) => {
      if (!list.current) return;
      list.select(token, token);
      pointer.hint(list.current.token(list.head));
    },
    number: (place) => {
      const name = project.labels[place - 1];
      if (name) label(name);
    },
    nextOpen: () => list.go(list.next()),
    undo: () => work.undo(),
    redo: () => work.redo(),
    help: () => byId("help").showModal(),
  });
  listenToKeys(table);
  drawHelp(byId("keys"), table);
  new Toolbar(project, feed, author);
  await feed.show();
  list.current?.text.focus({ preventScroll: true });
  work.outbox.flush();
  listen(project.data.seq ?? 0, (event) => others.heard(event), () => others.again());
}

async function start() {
  try {
    await begin();
  } catch (error) {
    console.error(error);
    const action = { text: "Try again", run: () => window.location.reload() };
    notify(`The page could not start. ${error.message}`, { error: true, stay: true, action });
  }
}

start();
