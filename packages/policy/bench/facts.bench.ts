import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { gatherFacts } from "../src/facts/gather.ts";
import { attacks, eventOf, ordinaryActions } from "../test/corpus.ts";
import { Machine } from "../test/machine.ts";

/** What a person would not notice, and a turn of many calls still does not. */
const BAR_MICROSECONDS = 200;

export default {
  name: "facts",
  title: "Facts of a shell command: read, gone through, its paths followed on the disk",
  async run({ scale }) {
    await using machine = await Machine.lay();
    const context = machine.context("claude-code");
    const rounds = scale === "quick" ? 20 : 200;
    const commands = ordinaryActions().flatMap((one) => (one.command === undefined ? [] : [one]));
    const hostile = attacks().filter(({ command }) => command !== undefined);

    /** Microseconds of each gathering, sorted. `distinct` makes every text one that was not read before. */
    const measure = async (cases: Parameters<typeof eventOf>[0][], distinct: boolean): Promise<number[]> => {
      const times: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        for (const one of cases) {
          const suffix = distinct ? ` # ${round}` : "";
          const event = eventOf({ ...one, command: `${one.command}${suffix}` }, machine);
          const start = performance.now();
          await gatherFacts(event, context);
          times.push((performance.now() - start) * 1_000);
        }
      }
      return times.sort((left, right) => left - right);
    };
    await measure(commands, false);
    const cached = await measure(commands, false);
    const fresh = await measure(
      commands.filter(({ command }) => !command?.includes("\n")),
      true,
    );
    const attacked = await measure(hostile, false);
    const at = (times: readonly number[], share: number): number =>
      times[Math.floor((times.length - 1) * share)] ?? 0;
    const bar = { ratio: 1, sense: "at most" as const };
    const baseline = { what: "the bar", value: BAR_MICROSECONDS };
    const row = (what: string, value: number, more: Partial<BenchRow> = {}): BenchRow => ({
      what,
      value,
      unit: "µs",
      ...more,
    });
    return [
      row("an ordinary command, read before, p50", at(cached, 0.5), { baseline, bar }),
      row("an ordinary command, read before, p99", at(cached, 0.99)),
      row("an ordinary command, new, p50", at(fresh, 0.5), { baseline, bar: { ratio: 2, sense: "at most" } }),
      row("an ordinary command, new, p99", at(fresh, 0.99)),
      row("a hostile command, read before, p50", at(attacked, 0.5), { baseline, bar }),
      row("a hostile command, read before, p99", at(attacked, 0.99)),
    ];
  },
} satisfies Bench;
