// The scale factor of a counter's line. It changes where the line is drawn, never a displayed value.

/** The selectable powers of ten. */
export const POWERS = Array.from({ length: 19 }, (_, index) => index - 9);

/** The text of a power of ten: `0.001`, `1.0`, `1000.0`. */
export function factorText(power) {
  return power < 0 ? (10 ** power).toFixed(-power) : `${10 ** power}.0`;
}

/** The largest selectable power of ten that keeps the maximum at or below 100. */
export function fittingPower(maximum) {
  const size = Math.abs(maximum ?? 0);
  if (!(size > 0)) return 0;
  for (let power = 9; power > -9; power -= 1) if (size * 10 ** power <= 100 * (1 + 1e-12)) return power;
  return -9;
}

/** The power of ten of a setting: "default", "fit", or a power. */
export function powerOf(choice, line) {
  if (choice === "fit") return fittingPower(Math.max(Math.abs(line.statistics?.maximum ?? 0), Math.abs(line.statistics?.minimum ?? 0)));
  if (choice === "default" || choice === undefined) return Math.max(-9, Math.min(9, line.default_scale ?? 0));
  return Number(choice);
}
