import type { Catalogue, Installer, ProbeCache, Stamps } from "@reins/host";

/** The agents of a home: which there are, what of them is installed, and what is known of them. */
export interface AgentShelf {
  readonly catalogue: Catalogue;
  readonly installer: Installer;
  readonly stamps: Stamps;
  readonly probes: ProbeCache;
  /** Agents that the operator has added to the catalogue. */
  readonly added: readonly unknown[];
  /** Whether the operating system is to confine an agent. */
  isConfined(agent: string): boolean;
}
