/** What HAAK calls agents that have another name here. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ["anthropic", "native"],
  ["claude_code", "claude"],
  ["claude-code", "claude"],
]);

/** The agent of the catalogue that a client means by a backend. */
export function backendOf(name: string): string {
  return NAMES.get(name) ?? name;
}
