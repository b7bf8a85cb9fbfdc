import { z } from "zod";
import { CONTROL_EVENTS } from "../action.ts";
import { textTest } from "../conditions/pattern.ts";

/** Invisible characters, and those that change the direction of text. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;
const LATIN = /\p{Script=Latin}/u;
const ALIKE = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Cherokee}\p{Script=Armenian}]/u;

/** Why a text would never be what its reader takes it for. */
function textFault(text: string): string | undefined {
  if (text.trim() === "") return "it is empty: nothing is called so";
  if (text !== text.trim()) return "it begins or ends with a blank: nothing is called so";
  if (HIDDEN.test(text)) return "it holds a character that cannot be seen: type it anew";
  const mixed = text.split(/[^\p{L}\p{M}\p{N}]+/u).find((word) => LATIN.test(word) && ALIKE.test(word));
  if (mixed !== undefined) return `"${mixed}" mixes letters of two scripts that look alike: type it anew`;
  return undefined;
}

/** Names are compared as they are, but for `*`. */
function nameFault(name: string): string | undefined {
  if (/^\/.*\/[a-z]*$|^\^|\$$|[|()\\]|\.\*/.test(name))
    return "names are no regular expressions: * stands for any text, and a list for one of several";
  return textFault(name);
}

function commandFault(command: string): string | undefined {
  if (/&&|\|\||[;|<>`]|\$\(/.test(command))
    return "a command is the words of one program: the parts of a command line are looked at one by one";
  return textFault(command);
}

/** Hosts are compared with bare names; an address never is one. */
function hostFault(host: string): string | undefined {
  if (/[/@]|^[^:]*:\d+$|\s/.test(host)) return "a host is a bare name, without scheme, port and path";
  if (host.startsWith(".")) return `write *${host} for every host below it`;
  if (/[^\p{ASCII}]/u.test(host)) return "a host is written in ASCII, as xn--…";
  return textFault(host);
}

/** Why a glob can match no path, or other ones than it seems to. */
function pathGlobFault(glob: string): string | undefined {
  const bare = glob.replace(/^!+/, "");
  if (/^~|\$\{?[A-Za-z_]|^%[A-Z]+%/.test(bare))
    return "~ and variables mean nothing in a glob: begin with /, or with a folder of the session";
  if (/^\^|\$$/.test(bare))
    return "this is a glob and no regular expression: * stands for a part of a name, ** for any folders";
  if (/(?:^|\/)\.\.(?:\/|$)/.test(bare)) return ".. leads nowhere in a glob: write where it leads";
  if (bare.replace(/\\.|\[[^\]]+\]/g, "").includes("[")) return "a [ in it is never closed";
  return textFault(glob);
}

/** Events are a closed list: a name that is none of them would never match. */
function eventFault(event: string): string | undefined {
  if (CONTROL_EVENTS.some(textTest(event))) return undefined;
  return `no control event is called so; there are ${CONTROL_EVENTS.join(", ")}`;
}

/** Signs that only a regular expression has. Text with parentheses, pipes or backslashes may be an argument. */
const REGULAR =
  /^\^|(?:^|[^\\])\$$|^\/.*\/[dgimsuvy]+$|^\/.*[\^$*+?|\\].*\/$|\\[bBdDsSwW](?![A-Za-z])|\(\?[:=!<]|^\.\*.*\.\*$|\.\+|\][*+{]/s;

/** Arguments are compared as text, but for `*` and `?`. */
function argumentFault(text: string): string | undefined {
  if (!REGULAR.test(text)) return undefined;
  return "arguments are compared with text and no regular expressions: * stands for any text";
}

const checked = (fault: (text: string) => string | undefined) =>
  z
    .string()
    .min(1)
    .superRefine((text, context) => {
      const message = fault(text);
      if (message !== undefined) context.addIssue({ code: "custom", message });
    });

/** The name of a user, a role and the like; `*` stands for any text. */
export const Text = checked(textFault);
/** The name of a tool or an agent; `*` stands for any text. */
export const Name = checked(nameFault);
/** The name of a control event; `*` stands for any text. */
export const EventName = checked(eventFault).meta({
  anyOf: [{ enum: [...CONTROL_EVENTS] }, { pattern: "[*?]" }],
});
/** The text of an argument; `*` stands for any text. */
export const ArgumentText = checked(argumentFault);
/** Words of a command. */
export const CommandWords = checked(commandFault);
export const HostName = checked(hostFault);
/** A glob of paths, as far as it is written; whether it can be compiled is looked at elsewhere. */
export const PathGlobText = checked(pathGlobFault);

/** Whether an object says anything at all. */
export function saysSomething(value: object): boolean {
  return Object.values(value).some((member) => member !== undefined);
}

/** An object that has to say something, since one that says nothing would hold of everything. */
export function saying<Kind extends z.ZodType<object>>(kind: Kind, message: string): Kind {
  return kind.refine(saysSomething, message).meta({ minProperties: 1 });
}
