import { type Format, NO, OPEN, type Reading, type Rest, triggerOf } from "../format.ts";
import { BASE64_URL, BLANK, type CharacterSet, characters } from "../notation.ts";
import { isSecretValue } from "./assigned-value.ts";
import { type PatternRow, runOf } from "./pattern-format.ts";

/** What base64 has before a beginning that may as well be a part of it. */
const NOT_IN_BASE64 = { notAfter: characters("A-Za-z0-9+/") };
const AFTER_DIGIT = { onlyAfter: characters("0-9") };

/** Words of small letters and dashes are names, of packages or classes; what is drawn at random is neither. */
const DRAWN = { accepts: (secret: string) => /[\dA-Z]/.test(secret) };

/** Tokens and keys that one knows by how they begin. */
export const TOKENS: readonly PatternRow[] = [
  ...rows("reins", ["reins_"], "[A-Za-z0-9_-]{20,}", DRAWN),

  ...rows("github", ["gh[pousr]_", "github_pat_"], "[A-Za-z0-9_]{20,}"),
  ...rows("gitlab", ["glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glcbt-"], "[A-Za-z0-9_-]{20,}", {
    inner: ".",
  }),
  ...rows(
    "gitlab",
    ["glimt-", "glsoat-", "glagent-", "gloas-", "glffct-", "GR1348941"],
    "[A-Za-z0-9_-]{20,}",
  ),
  ...rows("bitbucket", ["ATBB"], "[A-Za-z0-9]{24,}", NOT_IN_BASE64),
  ...rows("atlassian", ["ATATT3"], "[A-Za-z0-9_=-]{40,}", NOT_IN_BASE64),
  ...rows("linear", ["lin_api_", "lin_oauth_"], "[A-Za-z0-9]{20,}"),
  ...rows("notion", ["ntn_"], "[A-Za-z0-9]{30,}"),
  ...rows("figma", ["figd_"], "[A-Za-z0-9_-]{30,}"),
  ...rows("postman", ["PMAK-"], "[a-f0-9]{24}-[a-f0-9]{20,}"),

  ...rows("slack", ["xox[abcdeoprs]-"], "[A-Za-z0-9%+/=-]{10,}", DRAWN),
  ...rows("slack", ["xapp-"], "[0-9]-[A-Za-z0-9-]{10,}"),
  ...rows("slack", ["services", "workflows", "triggers"].map(slackHook), "[A-Za-z0-9/+_-]{20,}"),
  ...rows(
    "discord",
    ["discord\\.com", "discordapp\\.com"],
    "/api/webhooks/[0-9]{16,20}/([A-Za-z0-9_-]{30,})",
  ),
  // Begins with a number in base64, of which each three digits make four letters of few.
  ...rows(
    "discord",
    ["[MNO][DTjz][AEIMQUYcgk]"],
    "[A-Za-z0-9_-]{20,25}\\.[A-Za-z0-9_-]{6,7}\\.[A-Za-z0-9_-]{27,}",
    NOT_IN_BASE64,
  ),
  ...rows("telegram", [":AA"], "[A-Za-z0-9_-]{32,}", AFTER_DIGIT),
  ...rows("twilio", ["SK"], "[0-9a-f]{32,}", NOT_IN_BASE64),
  ...rows("sendgrid", ["SG\\."], "[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{16,}"),
  ...rows("mailgun", ["key-"], "[0-9a-f]{32,}"),
  ...rows("brevo", ["xkeysib-"], "[0-9a-f]{40,}", { rest: runOf(BASE64_URL) }),

  ...rows("stripe", ["sk_live_", "sk_test_", "rk_live_", "rk_test_"], "[A-Za-z0-9]{16,}"),
  ...rows("stripe", ["whsec_"], "[A-Za-z0-9+/=]{24,}"),
  ...rows("square", ["sq0atp-", "sq0csp-"], "[A-Za-z0-9_-]{20,}"),
  ...rows("shopify", ["shpat_", "shpca_", "shppa_", "shpss_"], "[A-Fa-f0-9]{30,}"),

  ...rows("anthropic", ["sk-ant-"], "[A-Za-z0-9_-]{16,}"),
  ...rows("openai", ["sk-proj-", "sk-svcacct-", "sk-admin-"], "[A-Za-z0-9_-]{16,}"),
  ...rows("openai", ["sk-"], "[A-Za-z0-9]{20,}", { ...DRAWN, rest: runOf(BASE64_URL) }),
  ...rows("openrouter", ["sk-or-v1-"], "[A-Za-z0-9]{16,}"),
  ...rows("langfuse", ["sk-lf-"], "[A-Za-z0-9-]{20,}"),
  ...rows("huggingface", ["hf_", "api_org_"], "[A-Za-z0-9]{30,}"),
  ...rows("groq", ["gsk_"], "[A-Za-z0-9]{40,}"),
  ...rows("xai", ["xai-"], "[A-Za-z0-9]{40,}"),
  ...rows("perplexity", ["pplx-"], "[A-Za-z0-9]{32,}"),
  ...rows("replicate", ["r8_"], "[A-Za-z0-9]{30,}"),
  ...rows("tavily", ["tvly-"], "[A-Za-z0-9-]{24,}", DRAWN),

  ...rows("google", ["AIza"], "[A-Za-z0-9_-]{30,}", NOT_IN_BASE64),
  ...rows("google", ["ya29\\."], "[A-Za-z0-9_-]{20,}", { inner: "." }),
  ...rows("google", ["GOCSPX-"], "[A-Za-z0-9_-]{20,}"),
  ...rows("google", ["1//0"], "[A-Za-z0-9_-]{28,}"),

  ...rows("aws", ["AKIA", "ASIA", "ABIA", "ACCA"], "[A-Z0-9]{16,}", NOT_IN_BASE64),
  ...rows("aws", ["AKIA", "ASIA"], "[A-Z0-9]{16}[\\s,;:|\"']{1,8}([A-Za-z0-9/+]{40,})", NOT_IN_BASE64),
  ...rows("aws", ["x-amz-signature="], "[a-f0-9]{40,}", { anyCase: true }),

  ...rows("azure", ["accountkey=", "sharedaccesskey="], "[A-Za-z0-9+/=]{20,}", { anyCase: true }),
  ...rows("azure", ["sig="], "[A-Za-z0-9%+/=_-]{24,}", { onlyAfter: characters("?&;\"'\\s") }),
  ...rows("azure", ["Q~"], "[A-Za-z0-9_~.-]{28,}", {
    ...AFTER_DIGIT,
    rest: runOf(characters("A-Za-z0-9_~-"), "."),
  }),

  ...rows("npm", ["npm_"], "[A-Za-z0-9]{36,}"),
  ...rows("pypi", ["pypi-Ag"], "[A-Za-z0-9_-]{40,}"),
  ...rows("rubygems", ["rubygems_"], "[a-f0-9]{40,}"),
  ...rows("docker", ["dckr_pat_", "dckr_oat_"], "[A-Za-z0-9_-]{20,}"),
  ...rows("digitalocean", ["dop_v1_", "doo_v1_", "dor_v1_"], "[a-f0-9]{40,}"),
  ...rows("databricks", ["dapi"], "[a-f0-9]{32,}", NOT_IN_BASE64),
  ...rows("supabase", ["sbp_"], "[a-f0-9]{40,}"),
  ...rows("supabase", ["sb_secret_"], "[A-Za-z0-9_-]{20,}"),
  ...rows("planetscale", ["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], "[A-Za-z0-9_-]{20,}", {
    inner: ".",
  }),
  ...rows("grafana", ["glsa_", "glc_"], "[A-Za-z0-9+/=_]{30,}"),
  ...rows("newrelic", ["NRAK-"], "[A-Z0-9]{20,}"),
  ...rows("sentry", ["sntrys_", "sntryu_"], "[A-Za-z0-9+/=_-]{30,}"),
  ...rows("vault", ["hvs\\.", "hvb\\.", "hvr\\."], "[A-Za-z0-9_-]{24,}"),
  ...rows("doppler", ["dp\\."], "[a-z]{2,5}\\.[A-Za-z0-9]{32,}"),
  ...rows("pulumi", ["pul-"], "[a-f0-9]{32,}"),
  ...rows("fly", ["fm2_"], "[A-Za-z0-9+/=_-]{40,}"),
  ...rows("age", ["AGE-SECRET-KEY-1"], "[A-Z0-9]{40,}"),

  ...rows("sshpass", ["sshpass -p"], "[ '\"]{0,2}([^\\s'\"$]{4,})"),
  ...rows("jwt", ["eyJ"], "[A-Za-z0-9_-]{10,8192}\\.\\.?([A-Za-z0-9_-]{8,})", {
    inner: ".",
    notAfter: characters("A-Za-z0-9+/_-"),
  }),
];

function rows(
  name: string,
  beginnings: readonly string[],
  secret: string,
  options: Omit<PatternRow, "name" | "pattern"> = {},
): readonly PatternRow[] {
  return beginnings.map((beginning) => ({ name, pattern: beginning + secret, ...options }));
}

function slackHook(kind: string): string {
  return `hooks\\.slack\\.com/${kind}/`;
}

/** As much of a credential as is looked at before it is judged. */
const LOOK = 96;
const TOKEN = { set: characters("A-Za-z0-9._~+/=-"), rest: runOf(characters("A-Za-z0-9_~+/=-"), ".") };
const ENCODED = { set: characters("A-Za-z0-9_+/=-"), rest: runOf(characters("A-Za-z0-9_+/=-")) };

/** What follows the name of a scheme, as in `Authorization: Bearer …`, wherever it occurs. */
export const authorizations: readonly Format[] = [
  scheme("bearer", TOKEN, isToken(12)),
  scheme("token", TOKEN, isToken(20)),
  scheme("apikey", TOKEN, isToken(16)),
  scheme("bot", TOKEN, isToken(30)),
  scheme("basic", ENCODED, isNameAndPassword),
];

/** How a credential is written. */
interface Credential {
  readonly set: CharacterSet;
  readonly rest: Rest;
}

function scheme(name: string, { set, rest }: Credential, accepts: (given: string) => boolean): Format {
  return {
    name: "authorization",
    triggers: [triggerOf(`${name} `, true), triggerOf(`${name}%20`, true)],
    reach: LOOK + 8,
    read(text, _, at, final): Reading {
      const from = BLANK.endOfRun(text, at, at + 4);
      const end = set.endOfRun(text, from, from + LOOK);
      const isCut = !final && end === text.length && end - from < LOOK;
      if (isCut && end === from) return OPEN;
      const to = from + text.slice(from, end).replace(/\.+$/, "").length;
      const isOne = accepts(text.slice(from, to));
      if (isCut) return { is: "open", from, hide: isOne ? from : undefined };
      if (!isOne) return NO;
      return end - from < LOOK ? { is: "secret", from, to } : { is: "secret", from, to: end, rest };
    },
  };
}

/** A word has no digits; what is drawn at random has, or both capitals and small letters. */
function isToken(shortest: number): (given: string) => boolean {
  return (given) => {
    if (given.length < shortest || !/[A-Za-z]/.test(given)) return false;
    return /\d/.test(given) || (given.length >= 2 * shortest && /[A-Z]/.test(given) && /[a-z]/.test(given));
  };
}

/** Whether it is base64 of `name:password`. */
function isNameAndPassword(given: string): boolean {
  const encoded = /^[A-Za-z0-9+/_-]{8,}/.exec(given)?.[0] ?? "";
  return /^[\x20-\x39\x3b-\x7e]*:/.test(Buffer.from(encoded, "base64").toString("latin1"));
}

const CLOSING = characters("\\\\\"'`*");
const COOKIE_NAME = characters("A-Za-z0-9_.!#$%&+^~|-");
const LONGEST_COOKIE_NAME = 96;
const FIRST = characters("A-Za-z0-9_.%+/~-");
const COOKIE_REST = runOf(characters("^\\n\\r\"'\\\\"));

/** What a `Cookie` or `Set-Cookie` header carries, to the end of its line or string. */
export const cookie: Format = {
  name: "cookie",
  triggers: [triggerOf("cookie", true)],
  reach: LONGEST_COOKIE_NAME + 32,
  read(text, _, at, final) {
    const wait = final ? NO : OPEN;
    const colon = BLANK.endOfRun(text, CLOSING.endOfRun(text, at, at + 4), at + 8);
    if (colon === text.length) return wait;
    if (text.charAt(colon) !== ":") return NO;
    const from = CLOSING.endOfRun(text, BLANK.endOfRun(text, colon + 1, colon + 9), colon + 13);
    const end = COOKIE_NAME.endOfRun(text, from, from + LONGEST_COOKIE_NAME);
    if (end + 1 >= text.length) return final || (end < text.length && text.charAt(end) !== "=") ? NO : OPEN;
    if (end === from || text.charAt(end) !== "=" || !FIRST.has(text.charCodeAt(end + 1))) return NO;
    return { is: "secret", from: end + 1, to: end + 2, rest: COOKIE_REST };
  },
};

const LONGEST_USER = 128;
const LONGEST_PASSWORD = 256;
const USER = characters("^\\s/?#:@\"'`<>\\[\\]{}\\\\,;()|").ofAlphabets();
const URL_PASSWORD = characters("^\\s/?#\"'`<>\\[\\]{}\\\\").ofAlphabets();

/** The password in an address: `https://ann:secret@host`, `redis://:secret@host`. */
export const urlPassword: Format = {
  name: "url-password",
  triggers: [triggerOf("://")],
  reach: LONGEST_USER + LONGEST_PASSWORD + 2,
  read(text, _, at, final) {
    const colon = USER.endOfRun(text, at, at + LONGEST_USER);
    if (colon === text.length) return final ? NO : OPEN;
    if (text.charAt(colon) !== ":") return NO;
    const from = colon + 1;
    const end = URL_PASSWORD.endOfRun(text, from, from + LONGEST_PASSWORD);
    const given = text.slice(from, end);
    if (!final && end === text.length && given.length < LONGEST_PASSWORD)
      return { is: "open", from, hide: /^(?:\d*$|[$%*])/.test(given) ? undefined : from };
    const to = from + given.lastIndexOf("@");
    return to <= from || isReference(given) ? NO : { is: "secret", from, to };
  },
};

/** Whether it is a variable, which reveals no password. */
function isReference(given: string): boolean {
  return /^(?:\$[A-Za-z_]|%[A-Za-z_]{3,}%|\*+@)/.test(given);
}

const LONGEST_USER_NAME = 64;
const QUOTES = characters("\"'");
const USER_NAME = characters("A-Za-z0-9._@%+-");
const OPTION_PASSWORD = characters("^\\s\"'`\\\\\\[").ofAlphabets();
const OPTION_REST = runOf(OPTION_PASSWORD);
const SECRET = { strong: true, plain: true };

/** The password of `curl -u name:password`; of `docker run -u 1000:1000`, which looks alike, nothing. */
export const userOption: Format = {
  name: "user-option",
  triggers: ["-u ", "--user ", "--user=", "--proxy-user "].map((option) => triggerOf(option)),
  notAfter: characters("A-Za-z0-9_-"),
  reach: LONGEST_USER_NAME + LOOK + 2,
  read(text, _, at, final) {
    const name = QUOTES.endOfRun(text, at, at + 1);
    const colon = USER_NAME.endOfRun(text, name, name + LONGEST_USER_NAME);
    if (colon === text.length) return final ? NO : OPEN;
    if (colon === name || text.charAt(colon) !== ":") return NO;
    const from = colon + 1;
    const end = OPTION_PASSWORD.endOfRun(text, from, from + LOOK);
    const value = text.slice(from, end);
    if (!final && end === text.length && value.length < LOOK)
      return { is: "open", from, hide: value.length > 3 && !/^\d+$|^\/\//.test(value) ? from : undefined };
    if (text.charAt(end) === "[" || /^\d+$|^\/\//.test(value) || !isSecretValue(value, SECRET, "bare"))
      return NO;
    return { is: "secret", from, to: end, rest: OPTION_REST };
  },
};
