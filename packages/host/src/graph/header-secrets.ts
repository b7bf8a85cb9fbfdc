import { isRecord } from "@reins/kit";

const SECRET_HEADER = /auth|cookie|key|token|secret|password|credential/i;
/** Shorter words of a header are no secrets. */
const SHORTEST = 8;
const REDACTED = "[redacted]";

/** The secrets that a service is called with. One that repeats what it was sent shows them to no model and no person. */
export class HeaderSecrets {
  /** Each as it is, and as it is written in addresses and in JSON; the longest first. */
  readonly #forms: readonly string[];

  constructor(headers: Readonly<Record<string, string>>) {
    const secrets = Object.entries(headers)
      .filter(([name]) => SECRET_HEADER.test(name))
      .flatMap(([, value]) => secretsIn(value))
      .filter((secret) => secret.length >= SHORTEST);
    const forms = secrets.flatMap((secret) => [
      secret,
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      JSON.stringify(secret).slice(1, -1).replaceAll("/", "\\/"),
    ]);
    this.#forms = [...new Set(forms)].sort((one, two) => two.length - one.length);
  }

  /** Whether an address has one in it, in any spelling that an address has for it. */
  areIn({ href }: URL): boolean {
    const spellings = [href, decoded(href)].map((text) => text.toLowerCase());
    return this.#forms.some((form) => spellings.some((text) => text.includes(form.toLowerCase())));
  }

  /** A value without them, also in the names of its members. */
  takenOut(value: unknown): unknown {
    if (typeof value === "string")
      return this.#forms.reduce((text, form) => text.replaceAll(form, REDACTED), value);
    if (Array.isArray(value)) return value.map((one) => this.takenOut(one));
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [this.takenOut(name), this.takenOut(one)]),
    );
  }
}

/** The words of a header's value, the values of its cookies and parameters, and the password of basic authentication. */
function secretsIn(value: string): string[] {
  const words = value.split(/[\s;,]+/);
  const values = words.map((word) => word.slice(word.indexOf("=") + 1).replace(/^"|"$/g, ""));
  const basic = /^basic\s+(\S+)$/i.exec(value)?.[1];
  const login = basic === undefined ? "" : Buffer.from(basic, "base64").toString("utf8");
  return [value, ...words, ...values, login, login.slice(login.indexOf(":") + 1)];
}

function decoded(address: string): string {
  return address.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) =>
    Buffer.from(bytes.replaceAll("%", ""), "hex").toString("utf8"),
  );
}
