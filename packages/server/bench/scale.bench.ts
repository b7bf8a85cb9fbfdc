import type { Bench } from "../../../scripts/bench/bench.ts";
import { measureScale } from "./scale/measure.ts";

const SIZES = {
  quick: { sessions: 100, readers: 200, stopped: 5, idle: 500 },
  full: { sessions: 500, readers: 2_000, stopped: 20, idle: 10_000 },
};

const bench: Bench = {
  name: "scale",
  title: "Many sessions on eight agents and many readers, on one server: what each of them costs in memory",
  run: ({ scale }) => measureScale(SIZES[scale]),
};

export default bench;
