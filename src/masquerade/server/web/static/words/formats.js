// Amounts as people read them. They are rounded so that no promise looks better than it is.

/** Return an epsilon or rho with at most three decimals, never smaller than it is. */
export function amountText(value, locale) {
  if (!isKnown(value)) return "∞";
  return number(Math.max(0, Math.ceil(value * 1000 - 1e-6)) / 1000, locale, 3);
}

/** Return e^epsilon, never smaller than it is; null above a million and where it has no limit. */
export function factorText(epsilon, locale) {
  const factor = isKnown(epsilon) ? Math.exp(epsilon) : Infinity;
  if (factor > 1e6) return null;
  const scale = factor < 10 ? 10 : 1;
  return number(Math.ceil(factor * scale - 1e-9) / scale, locale, 1);
}

/**
 * Return how sure, in percent, somebody can be after a report who thought an answer as likely as
 * not: the odds grow by at most e^epsilon. Never less than it is, in tenths above 99; 100 where
 * there is no limit.
 */
export function beliefPercent(epsilon) {
  if (!isKnown(epsilon)) return 100;
  const percent = 100 / (1 + Math.exp(-epsilon));
  const parts = percent > 99 ? 10 : 1;
  return Math.min(100, Math.ceil(percent * parts - 1e-9) / parts);
}

/** Return a number as the language writes it. */
export function number(value, locale, digits = 0) {
  return value.toLocaleString(locale, { maximumFractionDigits: digits });
}

/** Return a day such as 2026-11-21 in words; the day is the server's, in every time zone. */
export function dayText(day, locale) {
  const date = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(date.getTime())) return ""; // no day, and no text of whoever sent it
  return date.toLocaleDateString(locale, { dateStyle: "long", timeZone: "UTC" });
}

export function isKnown(value) {
  return typeof value === "number" && Number.isFinite(value);
}

/** Return what the texts of a language are put together with. */
export function formatsOf(locale) {
  const rules = new Intl.PluralRules(locale);
  return {
    amount: (value) => amountText(value, locale),
    number: (value, digits) => number(value, locale, digits),
    day: (day) => dayText(day, locale),
    plural: (count, forms) => forms[rules.select(count)] ?? forms.other,
    timesOf: (epsilon, { times, beyondAll }) => {
      const factor = factorText(epsilon, locale);
      return factor === null ? beyondAll : times(factor);
    },
  };
}
