// Escapes control characters, because names in a log can contain bidirectional controls, which would reorder the text around them.

/** Control characters except white space, Unicode's Bidi_Control, line and paragraph separators. */
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A string with these characters escaped as in the terminal monitor: `\u{202e}`. */
export function visible(text) {
  return String(text).replace(HIDDEN, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
}
