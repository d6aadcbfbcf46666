// Places for streams. A browser opens six connections to a server (HTTP/1.1), for all of its pages together: streams in all of
// them would leave none for anything else. So few pages have a stream; the others ask again and again.

/** Streams of all pages of a browser. */
const PLACES = 3;
const WANTED = "wanted";

/** A page's place among those that have a stream. A page that is not seen takes none, and gives its own to one that is. */
export class StreamPlace {
  /** `onLost()`: another page needs the place. */
  constructor(onLost) {
    this.onLost = onLost;
    this.release = null;
    this.taking = null;
    this.others = globalThis.BroadcastChannel ? new BroadcastChannel("tacho-stream") : null;
    this.others?.addEventListener("message", ({ data }) => {
      if (data !== WANTED || !document.hidden || !this.release) return;
      this.give();
      this.onLost();
    });
  }

  /** Takes a place; answers whether the page has one. */
  async take() {
    if (this.release) return true;
    if (document.hidden) return false;
    // Pages that come neither from this machine nor by TLS have no locks, and know nothing of each other.
    if (!navigator.locks) return true;
    this.taking ??= this.takeAny().finally(() => (this.taking = null));
    return this.taking;
  }

  async takeAny() {
    for (let number = 0; number < PLACES; number += 1) if (await this.takeOne(`tacho-stream-${number}`)) return true;
    this.others?.postMessage(WANTED);
    return false;
  }

  /** A lock is held until the promise that its callback answers is done. */
  takeOne(name) {
    return new Promise((resolve) => {
      const hold = (lock) => {
        resolve(lock !== null);
        return lock && new Promise((release) => (this.release = release));
      };
      navigator.locks.request(name, { ifAvailable: true }, hold).catch(() => resolve(false));
    });
  }

  /** Gives the place back. */
  give() {
    this.release?.();
    this.release = null;
  }
}
