import { domainToASCII } from "node:url";

/** The host that could not be found out. */
const ANY_HOST = "*";

// What every parser of addresses reads alike. Anything else (backslashes, blanks, two @, escapes in the host) is read
// differently by different programs.
const ADDRESS =
  /^([a-z][a-z0-9+.-]*):\/\/(?:[\w.~!$&'()*+,;=:%-]*@)?(\[[0-9a-f:.]+\]|[^\s/?#@\\:%[\]<>^`{|}"]+)(?::\d{0,5})?(?:[/?#]|$)/iu;

/** Longer addresses are read differently by different programs, or not at all. */
const LENGTH_LIMIT = 8_192;

/** The host of an address with a scheme, as `NetEffect` has it; `*` when programs may disagree about it. */
export function hostOfUrl(text: string): string {
  if (text.length > LENGTH_LIMIT) return ANY_HOST;
  if (/[\s\\\p{Cc}\p{Default_Ignorable_Code_Point}]/u.test(text)) return ANY_HOST;
  if (/^[^/]*:\/\/[^/]*[?#][^/]*@/.test(text)) return ANY_HOST;
  const host = ADDRESS.exec(text)?.[2];
  return host === undefined ? ANY_HOST : hostName(host);
}

/** A host as it is written in an address or on a command line: one spelling for all bases, cases and scripts. */
export function hostName(text: string): string {
  const bare = text.replace(/^\[(.*)\]$/, "$1");
  // Brackets hold an IPv6 address; another name in them is read by some programs only.
  if (bare !== text && !bare.includes(":")) return ANY_HOST;
  if (bare === "" || bare.length > 255 || /[\s/?#@\\%]/.test(bare)) return ANY_HOST;
  // An http address makes node read 0x7f.1, 2130706433 and ::ffff:7f00:1 as the network would.
  const parsed = URL.parse(`http://${bare.includes(":") ? `[${bare}]` : domainToASCII(bare) || bare}/`);
  if (parsed === null || parsed.hostname === "") return ANY_HOST;
  return mappedToFour(parsed.hostname.replace(/^\[(.*)\]$/, "$1")).replace(/\.$/, "") || ANY_HOST;
}

function mappedToFour(host: string): string {
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(host);
  if (mapped === null) return host;
  const [high, low] = [Number.parseInt(mapped[1] ?? "", 16), Number.parseInt(mapped[2] ?? "", 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** Ports that programs under development are served at by custom, and nothing that manages a machine. */
const DEVELOPMENT_PORT = /^(?:3\d{3}|4(?:000|173|200|321)|5(?:000|001|17\d)|80(?:00|01|80|81))$/;

/** Whether an address is that of a program that is developed on this machine. */
export function isDevelopmentUrl(text: string): boolean {
  const parsed = text.length > LENGTH_LIMIT ? null : URL.parse(text);
  if (parsed?.protocol !== "http:" || parsed.username !== "" || !DEVELOPMENT_PORT.test(parsed.port))
    return false;
  return /^(?:localhost|127\.0\.0\.1|::1)$/.test(hostOfUrl(text));
}
