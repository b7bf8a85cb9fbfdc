import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { toolTokens } from "../src/search/promotion.ts";
import { MAX_HITS, type SearchableTool, ToolIndex } from "../src/search/tool-index.ts";
import { corpusQueries, corpusTools, plainBm25 } from "../test/tool-corpus.ts";

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

function timesOf(queries: readonly string[], search: (query: string) => unknown): readonly number[] {
  return queries.map((query) => {
    const begun = performance.now();
    search(query);
    return performance.now() - begun;
  });
}

/** Speed, size of the prompt and accuracy of the search of tools. */
const bench: Bench = {
  name: "tool-search",
  title: "10,000 tools: a search, the prompt, and what is found among the first five",
  async run({ scale }) {
    const tools = manyTools();
    const index = new ToolIndex(tools);
    const queries = [...corpusQueries("queries"), ...corpusQueries("held-out")];
    const asked = queries.map(({ query }) => query).slice(0, scale === "quick" ? 50 : 200);
    timesOf(asked, (query) => index.search(query));
    const listed = tools.reduce((sum, tool) => sum + toolTokens(tool), 0);
    const largest = tools.map(toolTokens).toSorted((left, right) => right - left);
    const deferred = largest.slice(0, LISTED).reduce((sum, tokens) => sum + tokens, 0);
    const rows: BenchRow[] = [
      {
        ...{ what: "search p50", value: median(timesOf(asked, (query) => index.search(query))), unit: "ms" },
        baseline: { what: "bar", value: BAR_MS },
        bar: { ratio: 1, sense: "at most" },
      },
      {
        ...{ what: "tools in the prompt", value: deferred, unit: "tokens" },
        baseline: { what: "all listed", value: listed },
        bar: { ratio: 0.05, sense: "at most" },
      },
    ];
    const corpus = corpusTools();
    const [ours, plain] = [new ToolIndex(corpus), plainBm25(corpus)];
    const found = (search: (query: string) => readonly string[]) =>
      (100 *
        queries.filter(({ query, accepted }) =>
          search(query)
            .slice(0, 5)
            .some((name) => accepted.includes(name)),
        ).length) /
      queries.length;
    const accuracy = {
      ...{ what: "found among the first five of 1,069", unit: "%" },
      value: found((query) => ours.search(query).map(({ name }) => name)),
    };
    return [
      ...rows,
      { ...accuracy, baseline: { what: "bar", value: 95 }, bar: { ratio: 1, sense: "at least" } },
      { ...accuracy, baseline: { what: "plain formula", value: found(plain) } },
    ];
  },
};

export default bench;
