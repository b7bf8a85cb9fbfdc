import type { TargetHints } from "../../events.ts";

const URL_LIKE = /\bhttps?:\/\/[^\s`"'<>)]+/;
const QUOTED = /`([^`\n]{1,200})`|"([^"\n]{1,200})"|'([^'\n]{2,200})'/g;
const PATH_LIKE =
  /(?:^|[\s("'`])((?:\.{0,2}\/)?(?:[\w@.-]+\/)+[\w@.-]*|(?:\.?[\w@-]+\.)+[a-zA-Z][\w]{0,7}|\.[a-zA-Z][\w.-]+|[A-Z]{4,}(?:\.md)?|Makefile|Dockerfile)(?=$|[\s,;:!?)"'`]|\.(?:\s|$))/g;
const FOLDER_WORD =
  /\b(?:this|the|current|working) (?:folder|directory|repo(?:sitory)?|project|code ?base)\b/;
const IDENTIFIER = /^[A-Za-z_$][\w$]*(?:[.:#]{1,2}[\w$]+)*(?:\(\))?$/;

/** Words in capitals that are no file names. */
const SHOUTED = new Set([
  "TODO",
  "FIXME",
  "JSON",
  "HTML",
  "HTTP",
  "HTTPS",
  "YAML",
  "TOML",
  "NULL",
  "ASAP",
  "TLDR",
]);

/** What a prompt points at: an address, a file, a folder, a command or a name of code; the first that is named. */
export function targetIn(prompt: string): Pick<TargetHints, "target_type" | "target_name"> | undefined {
  const url = URL_LIKE.exec(prompt)?.[0];
  if (url !== undefined) return { target_type: "url", target_name: url.replace(/[.,;:!?]+$/, "") };
  const path = pathsIn(prompt)[0];
  if (path !== undefined) return { target_type: typeOfPath(path), target_name: path };
  const quoted = quotedIn(prompt)[0];
  if (quoted !== undefined)
    return { target_type: IDENTIFIER.test(quoted) ? "symbol" : "text", target_name: quoted };
  if (FOLDER_WORD.test(prompt.toLowerCase())) return { target_type: "folder", target_name: "." };
  return undefined;
}

/** What looks like the path of a file or folder, in the order of appearance. */
export function pathsIn(prompt: string): readonly string[] {
  const withoutUrls = prompt.replaceAll(new RegExp(URL_LIKE, "g"), " ");
  return [...withoutUrls.matchAll(PATH_LIKE)]
    .map(([, path = ""]) => path.replace(/\.+$/, ""))
    .filter((path) => path !== "" && !SHOUTED.has(path) && !/^(?:e\.g|i\.e|etc)$/i.test(path));
}

/** What stands in backticks or quotation marks. */
export function quotedIn(prompt: string): readonly string[] {
  return [...prompt.matchAll(QUOTED)].map(
    ([, ...groups]) => groups.find((group) => group !== undefined) ?? "",
  );
}

function typeOfPath(path: string): "file" | "folder" {
  if (path.endsWith("/")) return "folder";
  const name = path.slice(path.lastIndexOf("/") + 1);
  return /\.\w+$|^[A-Z]+$|^(?:Makefile|Dockerfile)$/.test(name) ? "file" : "folder";
}
