// Make elements. Texts enter as text only, so that nothing in them can become markup.

/** Make an element: `class`, `text`, `on` (listeners) and attributes; null and false leave an attribute out. */
export function make(name, settings = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(settings)) {
    if (key === "class") element.className = value;
    else if (key === "text") element.textContent = value;
    else if (key === "on") for (const [event, heard] of Object.entries(value)) element.addEventListener(event, heard);
    else setAttribute(element, key, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/** Set an attribute, or remove it if the value is null or false. */
export function setAttribute(element, name, value) {
  if (value == null || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : value);
}

export const byId = (id) => document.getElementById(id);

/** Put an element beside a rectangle, inside the window: above or below, whichever has room. */
export function place(element, rectangle, { above = false } = {}) {
  const room = 8;
  const { offsetWidth: width, offsetHeight: height } = element;
  const left = Math.min(Math.max(room, rectangle.left), window.innerWidth - width - room);
  const over = rectangle.top - height - 4;
  const under = rectangle.bottom + 4;
  const fits = above ? over >= room : under + height > window.innerHeight - room && over >= room;
  element.style.left = `${Math.max(room, left)}px`;
  element.style.top = `${fits ? over : under}px`;
}
