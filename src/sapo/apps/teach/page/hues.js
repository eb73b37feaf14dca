// Labels and their colors: the order of the labels decides, so that a label keeps its color.

const HUES = 8; // as many as colors.css has

export class Hues {
  #places = new Map();

  /** Take the labels of the project; new ones come at the end. */
  set(labels) {
    this.#places = new Map(labels.map((label, place) => [label, place]));
  }

  /** Return the class that gives an element the color of a label. The label's text tells apart what shares one. */
  of(label) {
    return `hue-${(this.#places.get(label) ?? HUES - 1) % HUES}`;
  }
}

/** Tell CSS how sure a span is: from 0 (pale) to 1. Below 30 % all are equally pale. */
export function setSureness(element, probability) {
  const sure = probability == null ? 1 : Math.max(0, (probability - 0.3) / 0.7);
  element.style.setProperty("--sure", sure.toFixed(2));
  element.classList.toggle("unsure", probability != null && probability < 0.6);
}
