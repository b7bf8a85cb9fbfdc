import type { ProbeResult } from "@reins/host";

/** The settings of a verification, as people read them. */
export const SETTINGS: Readonly<Record<ProbeResult["setting"], string>> = {
  plain: "harmless workspace",
  hostile: "hostile workspace",
  loaded: "after session/load",
  resumed: "after session/resume",
};

/** What agents are told to do in a verification, as people read it. */
export const DEEDS: Readonly<Record<ProbeResult["probe"], string>> = {
  write: "write a file",
  command: "run a command",
  look: "run a harmless command",
  read: "read in the workspace",
  outside: "read outside of it",
  fetch: "fetch a page",
  mention: "read what @path names",
  link: "read what a link names",
  switch: "ask no more by a /command",
};
