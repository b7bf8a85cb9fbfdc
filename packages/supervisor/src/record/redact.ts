/** Forms in which secrets are commonly written. Redaction marks them; it never decides. */
const SECRETS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+/g,
  /\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bglpat-[A-Za-z0-9_-]{16,}/g,
  /\bxox[abprs]-[A-Za-z0-9-]{10,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\breins_[A-Za-z0-9_-]{20,}/g,
  /(?<=\b(?:Bearer|Basic|token)\s)[A-Za-z0-9._~+/=-]{12,}/gi,
  /(?<=\b(?:password|passwd|secret|api[_-]?key|access[_-]?token|token)["']?\s*[=:]\s*["']?)[^\s"'&]{6,}/gi,
  /(?<=:\/\/[^\s/:@]+:)[^\s/@]+(?=@)/g,
];

const MARK = "[redacted]";

/** A value for the record: every string in it well-formed and without the secrets we can recognise. */
export function redact(value: unknown): unknown {
  if (typeof value === "string")
    return SECRETS.reduce((text, secret) => text.replace(secret, MARK), value.toWellFormed());
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, redact(member)]));
}
