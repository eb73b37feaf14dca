// Let the search of the site work when its pages are opened as files: browsers run no Worker from file://, so its script
// runs in a hidden frame. (The theme would load such a script from another server.)

if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #inbox = []; // messages that came before the script was there
    #frame = document.createElement("iframe");
    #ready = false;

    constructor(url) {
      super();
      this.#frame.hidden = true;
      document.body.append(this.#frame);
      const inside = this.#frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...urls) => urls.reduce((before, one) => before.then(() => load(inside, one)), Promise.resolve());
      load(inside, url).then(() => {
        this.#ready = true;
        for (const data of this.#inbox) this.postMessage(data);
      });
    }

    postMessage(data) {
      if (!this.#ready) this.#inbox.push(data);
      else setTimeout(() => this.#frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.#frame.remove();
    }
  };
}

function load(inside, url) {
  return new Promise((resolve, reject) => {
    const script = inside.document.createElement("script");
    Object.assign(script, { src: new URL(url, location.href).href, onload: resolve, onerror: reject });
    inside.document.body.append(script);
  });
}
