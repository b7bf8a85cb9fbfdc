import type { Tables } from "@reins/store";

/** The definition of a tool of an MCP server as it was first seen, or as a person accepted it. */
export interface PinRow {
  readonly tenant: string;
  /** The server, by what is started or reached: a hash. */
  readonly server: string;
  /** The same for people, without secrets. */
  readonly origin: string;
  readonly tool: string;
  readonly hash: string;
  /** Everything that defines the tool, as canonical JSON. */
  readonly definition: string;
  /** The entry of the verdict that accepted it; empty where it was pinned at first sight. */
  readonly verdict: string;
  readonly at: string;
}

/** Which pins; all of a tenant, or those of one server, or of one of its tools. */
export interface PinRange {
  readonly tenant: string;
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
}

export type PinChanges = {
  /** Pins tools that are not pinned yet; others stay as they are. */
  add(args: { pins: readonly PinRow[] }): undefined;
  /** Pins a tool anew, if it still is as it was. */
  replace(args: { pin: PinRow; was: string }): undefined;
  /** Returns how many there were. */
  remove(args: PinRange): number;
};

export type PinQueries = {
  /** Those of some tools of a server. */
  of(args: { tenant: string; server: string; tools: readonly string[] }): PinRow[];
  count(args: { tenant: string; server: string }): number;
  /** By server and tool, after those of a page before. */
  list(args: PinRange & { after?: { server: string; tool: string } | undefined; limit: number }): PinRow[];
};

/** The tools of MCP servers as they were pinned. */
export const pinTables: Tables<PinChanges, PinQueries> = {
  name: "mcp_pins",
  module: new URL("./module.ts", import.meta.url),
};
