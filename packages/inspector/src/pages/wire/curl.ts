import type { LoggedRequest } from "@reins/api";

/** A request as a command that makes it again. What was in its body or after its path is not kept, and not known. */
export function curlFor({ method, path }: Pick<LoggedRequest, "method" | "path">, origin: string): string {
  const words = [
    "curl",
    ...(method === "GET" ? [] : ["-X", method]),
    "-H",
    '"Authorization: Bearer $REINS_TOKEN"',
    ...(method === "GET" || method === "DELETE"
      ? []
      : ["-H", quoted("Content-Type: application/json"), "-d", quoted("{}")]),
    quoted(origin + path),
  ];
  return words.join(" ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
