// Round steps of axes.

/** A round step (1, 2 or 5 times a power of ten) that divides `length` into at most `max` parts. */
export function roundStep(length, max) {
  const min = length / Math.max(1, max);
  const power = 10 ** Math.floor(Math.log10(min));
  for (const factor of [1, 2, 5, 10]) if (factor * power >= min * (1 - 1e-9)) return factor * power;
  return 10 * power;
}
