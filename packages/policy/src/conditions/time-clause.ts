import type { PlainCondition } from "../constitution/condition.ts";
import type { Clause } from "./effect-clauses.ts";

type TimeCondition = NonNullable<PlainCondition["time"]>;

/** Holds at certain times of day on certain days, in a time zone. A span may pass midnight. */
export function timeClause({ from = "00:00", until = "24:00", days, zone = "UTC" }: TimeCondition): Clause {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  const allowed = days && new Set<string>(days);
  return {
    name: "time",
    holds({ at }) {
      const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
      const day = parts.get("weekday")?.toLowerCase().slice(0, 3) ?? "";
      const time = `${parts.get("hour")}:${parts.get("minute")}`;
      const within = from <= until ? time >= from && time < until : time >= from || time < until;
      return within && (allowed?.has(day) ?? true);
    },
  };
}
