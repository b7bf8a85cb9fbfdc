import type { ProbeResult } from "@reins/host";

/** The settings of a verification, as people read them. */
export const SETTINGS: Readonly<Record<ProbeResult["setting"], string>> = {
  plain: "harmless workspace",
  hostile: "hostile workspace",
  loaded: "after session/load",
  resumed: "after session/resume",
};
