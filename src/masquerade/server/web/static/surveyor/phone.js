// The phone beside the builder: a frame with the preview in it, told what to show.

export class Phone {
  /** `moved` is called with the place of the question that the preview went to by itself. */
  constructor(frame, moved) {
    this.frame = frame;
    this.ready = false;
    this.shown = null;
    globalThis.addEventListener("message", ({ origin, source, data }) => {
      if (origin !== globalThis.location.origin || source !== frame.contentWindow) return;
      if (data?.ready) {
        this.ready = true;
        this.#tell();
      } else if (Number.isInteger(data?.place)) {
        moved(data.place);
      }
    });
    // The frame may have been there first, and then nobody heard that it was.
    frame.contentWindow?.postMessage({ hello: true }, globalThis.location.origin);
  }

  /** Show a draft at the place of a question, or of a page or block `{page, item}`. */
  show(draft, place) {
    this.shown = { draft, place };
    this.#tell();
  }

  #tell() {
    if (!this.ready || !this.shown) return;
    this.frame.contentWindow.postMessage(this.shown, globalThis.location.origin);
  }
}
