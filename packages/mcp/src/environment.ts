/** What a program needs to find its way; nothing else of ours is a server's business. */
const NEEDED = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LC_ALL",
  "TZ",
  "TMPDIR",
  "SystemRoot",
  "APPDATA",
  "LOCALAPPDATA",
  "USERPROFILE",
  "TEMP",
  "PATHEXT",
];

/** The environment that every server gets unless the host gives another. */
export function minimalEnvironment(own: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const kept = NEEDED.map((name) => [name, own[name]] as const);
  return Object.fromEntries(
    kept.filter((entry): entry is readonly [string, string] => entry[1] !== undefined),
  );
}
