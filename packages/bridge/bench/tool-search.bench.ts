import { setImmediate } from "node:timers/promises";
import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { MAX_HITS, type SearchableTool, ToolIndex, toolTokens } from "../src/search/tool-index.ts";
import {
  type CorpusQuery,
  corpusQueries,
  corpusTools,
  foundAmongFive,
  plainBm25,
} from "../test/tool-corpus.ts";

const TOOLS = 10_000;
const BAR_MS = 5;
/** The tools of a prompt that defers: those found by a search, and the one that searches. */
const LISTED = MAX_HITS + 1;

/** Ten thousand tools: those of the corpus, at as many installations of their services as it takes. */
function manyTools(): readonly SearchableTool[] {
  const corpus = corpusTools();
  return Array.from({ length: TOOLS }, (_, index) => {
    const tool = corpus[index % corpus.length] ?? { name: "", description: "", parameters: null };
    const site = `${tool.source}_${Math.floor(index / corpus.length)}`;
    return { ...tool, name: `${site}__${tool.name}`, label: tool.name, source: site };
  });
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

async function timesOf(queries: readonly string[], index: ToolIndex): Promise<readonly number[]> {
  const times: number[] = [];
  for (const query of queries) {
    const begun = performance.now();
    await index.search(query);
    times.push(performance.now() - begun);
  }
  return times;
}

/** How long this thread worked on something, and the longest time in which nothing else could run meanwhile, in milliseconds. */
async function blocking(
  work: () => Promise<unknown>,
): Promise<{ readonly whole: number; readonly longest: number }> {
  // What other processes take of the machine does not count.
  const worked = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  const state = { isOver: false, longest: 0 };
  const begun = worked();
  const done = work().finally(() => {
    state.isOver = true;
  });
  while (!state.isOver) {
    const before = worked();
    await setImmediate();
    state.longest = Math.max(state.longest, worked() - before);
  }
  await done;
  return { whole: worked() - begun, longest: state.longest };
}

/** Speed, size of the prompt and accuracy of the search of tools. */
const bench: Bench = {
  name: "tool-search",
  title: "10,000 tools: a search, the prompt, and what is found among the first five",
  async run({ scale }) {
    const tools = manyTools();
    const index = new ToolIndex(tools);
    const indexing = await blocking(() => index.search("deploy a service"));
    const queries = [...corpusQueries("queries"), ...corpusQueries("held-out")];
    const asked = queries.map(({ query }) => query).slice(0, scale === "quick" ? 50 : 200);
    await timesOf(asked, index);
    const listed = tools.reduce((sum, tool) => sum + toolTokens(tool), 0);
    const largest = tools.map(toolTokens).toSorted((left, right) => right - left);
    const deferred = largest.slice(0, LISTED).reduce((sum, tokens) => sum + tokens, 0);
    const rows: BenchRow[] = [
      {
        ...{ what: "search p50", value: median(await timesOf(asked, index)), unit: "ms" },
        baseline: { what: "bar", value: BAR_MS },
        bar: { ratio: 1, sense: "at most" },
      },
      {
        ...{ what: "longest block while they are indexed", value: indexing.longest, unit: "ms" },
        baseline: { what: "indexing", value: indexing.whole },
        bar: { ratio: 0.2, sense: "at most" },
      },
      {
        ...{ what: "tools in the prompt", value: deferred, unit: "tokens" },
        baseline: { what: "all listed", value: listed },
        bar: { ratio: 0.05, sense: "at most" },
      },
    ];
    const corpus = corpusTools();
    const [ours, plain] = [new ToolIndex(corpus), plainBm25(corpus)];
    const byOurs = async (query: string) => (await ours.search(query)).map(({ name }) => name);
    const accuracy = async (what: string, file: readonly CorpusQuery[]) => ({
      ...{ what: `found among the first five of 1,069: ${what}`, unit: "%" },
      value: 100 * (await foundAmongFive(file, byOurs)),
      baseline: { what: "plain formula", value: 100 * (await foundAmongFive(file, plain)) },
    });
    const known = await accuracy("200 queries", queries);
    return [
      ...rows,
      { ...known, baseline: { what: "bar", value: 95 }, bar: { ratio: 1, sense: "at least" } },
      known,
      await accuracy("60 written after the ranker", corpusQueries("unseen")),
    ];
  },
};

export default bench;
