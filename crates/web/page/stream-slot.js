// Slots for streams. A browser opens only six connections per server (HTTP/1.1) for all its tabs. If all tabs had streams, no
// connection would be left. So only a few tabs have a stream; the others poll.

/** The maximum number of streams of all tabs of a browser together. */
const SLOTS = 3;
const WANTED = "wanted";

/** The stream slot of a tab. A hidden tab acquires none, and releases its own if a visible tab needs it. */
export class StreamSlot {
  /** `onLost()` is called when another tab needs the slot. */
  constructor(onLost) {
    this.onLost = onLost;
    this.unlock = null;
    this.acquiring = null;
    this.others = globalThis.BroadcastChannel ? new BroadcastChannel("tacho-stream") : null;
    this.others?.addEventListener("message", ({ data }) => {
      if (data !== WANTED || !document.hidden || !this.unlock) return;
      this.release();
      this.onLost();
    });
  }

  /** Acquires a slot; returns whether the tab has one. */
  async acquire() {
    if (this.unlock) return true;
    if (document.hidden) return false;
    // Locks require a secure context (this machine or TLS). Without locks, tabs cannot coordinate.
    if (!navigator.locks) return true;
    this.acquiring ??= this.acquireAny().finally(() => (this.acquiring = null));
    return this.acquiring;
  }

  async acquireAny() {
    for (let index = 0; index < SLOTS; index += 1) if (await this.acquireOne(`tacho-stream-${index}`)) return true;
    this.others?.postMessage(WANTED);
    return false;
  }

  /** A lock is held until the promise that its callback returns is fulfilled. */
  acquireOne(name) {
    return new Promise((resolve) => {
      const hold = (lock) => {
        resolve(lock !== null);
        return lock && new Promise((release) => (this.unlock = release));
      };
      navigator.locks.request(name, { ifAvailable: true }, hold).catch(() => resolve(false));
    });
  }

  /** Releases the slot. */
  release() {
    this.unlock?.();
    this.unlock = null;
  }
}
