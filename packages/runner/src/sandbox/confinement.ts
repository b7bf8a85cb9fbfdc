/** A file or folder that is shown to a confined agent beside what it sees anyway. */
export interface Bind {
  readonly path: string;
  readonly access: "read" | "write";
  /** Where it is shown; by default where it is. */
  readonly at?: string;
}

/**
 * What a confined agent reaches. `open` is the network as it is, and with it every service of this machine that
 * listens on loopback or on an abstract socket; to keep those out, `{ hosts: ["*"] }` lets through whatever is not
 * this machine or its neighbourhood. A host is a name, `*.suffix` or an address, with `:port` or `:*` where 80 and 443
 * are not meant.
 */
export type Network = "open" | "off" | { readonly hosts: readonly string[] };

/** How far a network reaches, for the rules: hosts that stand for any host, or for most of them, name none. */
export function networkReach(network: Network): "open" | "off" | "hosts" {
  if (typeof network === "string") return network;
  return network.hosts.some((host) => /^\*(?:\.[^.:]*)?(?::|$)/.test(host)) ? "open" : "hosts";
}

/** What the operating system lets an agent do: all it does not name is read-only, or not there. */
export interface Confinement {
  /** The workspace: folders that can be written. */
  readonly roots: readonly string[];
  /** What each root was when it was admitted, by its path: another folder in its place is not shown. */
  readonly identities?: Readonly<Record<string, string>> | undefined;
  /** The private HOME. */
  readonly home: string;
  /** The private TMPDIR. */
  readonly temporary: string;
  /** What is not to be seen at all, Reins' own home first of all. The user's home never is. */
  readonly masked: readonly string[];
  readonly binds?: readonly Bind[];
  readonly network: Network;
  /** Whether the agent may make sandboxes of its own inside this one; some do. No by default. */
  readonly nested?: boolean;
}
