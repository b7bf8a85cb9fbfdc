import { membersOf, type Probed } from "@reins/host";
import { printableLine, table } from "../../../printable.ts";
import { moment } from "../../../time.ts";

/** What an agent said of itself, for people. */
export function describeProbed(
  { version, probedAt, initialized, session, refused }: Probed,
  name: string,
): string {
  const { agentCapabilities, authMethods, protocolVersion } = initialized;
  const { modes, configOptions } = membersOf(session);
  const { currentModeId, availableModes } = membersOf(modes);
  const rows = [
    ["protocol", String(protocolVersion ?? "-")],
    ["can", capabilities(agentCapabilities).join(", ") || "-"],
    ["modes", named(availableModes, "id", currentModeId)],
    ["options", named(configOptions, "id")],
    ["logins", named(authMethods, "id")],
    ...(refused ? [["session", `refused: ${refused.message} (${refused.code})`]] : []),
  ];
  const lines = rows.map(([what = "", text = ""]) => [what, printableLine(text)]);
  return `${name} ${printableLine(version)}, asked ${moment(probedAt)}\n${table(lines)}`;
}

/** The capabilities that are there, with dots where they lie deeper. */
function capabilities(value: unknown, path = ""): string[] {
  return Object.entries(membersOf(value)).flatMap(([key, inner]) => {
    const name = path === "" ? key : `${path}.${key}`;
    if (key === "_meta" || inner === false || inner === null) return [];
    const deeper = capabilities(inner, name);
    return deeper.length > 0 ? deeper : [name];
  });
}

function named(list: unknown, key: string, current?: unknown): string {
  const names = (Array.isArray(list) ? list : []).map((one) => String(membersOf(one)[key]));
  return names.map((name) => (name === current ? `${name} (now)` : name)).join(", ") || "-";
}
