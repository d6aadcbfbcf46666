// Server-sent events with request headers, which EventSource cannot send.

const RETRY_MS = 2000;
const [CONNECTING, OPEN, CLOSED] = [0, 1, 2];

/** The part of EventSource that the page uses. */
export class FetchedEvents extends EventTarget {
  constructor(url, headers) {
    super();
    this.readyState = CONNECTING;
    this.aborting = new AbortController();
    this.run(url, headers);
  }

  close() {
    this.readyState = CLOSED;
    this.aborting.abort();
  }

  async run(url, headers) {
    while (this.readyState !== CLOSED) {
      try {
        const response = await fetch(url, { headers, cache: "no-store", signal: this.aborting.signal });
        if (!response.ok) this.readyState = CLOSED;
        else await this.read(response.body);
      } catch {
        // Disconnected, or closed by the page.
      }
      if (this.aborting.signal.aborted) return;
      if (this.readyState !== CLOSED) this.readyState = CONNECTING;
      this.dispatchEvent(new Event("error"));
      if (this.readyState !== CLOSED) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }

  async read(body) {
    this.readyState = OPEN;
    this.dispatchEvent(new Event("open"));
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += value;
      const parts = text.split("\n\n");
      text = parts.pop();
      for (const part of parts) this.dispatch(part);
    }
  }

  dispatch(part) {
    const lines = part.split("\n");
    const valuesOf = (field) => lines.filter((line) => line.startsWith(`${field}: `)).map((line) => line.slice(field.length + 2));
    const data = valuesOf("data");
    if (data.length) this.dispatchEvent(new MessageEvent(valuesOf("event")[0] ?? "message", { data: data.join("\n") }));
  }
}
