// Texts from elsewhere as they are shown. Names in a log can hold anything: what would turn the text around it is written out.

/** Control characters but blanks and line ends, Unicode's Bidi_Control, and the separators of lines and paragraphs. */
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A text with such characters as the terminal shows them: `\u{202e}`. */
export function visible(text) {
  return String(text).replace(HIDDEN, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
}
