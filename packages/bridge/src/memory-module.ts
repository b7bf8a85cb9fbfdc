import type { TablesModule } from "@reins/store";
import { type MemoryFact, mergeFacts, type RecalledFact } from "./memory.ts";
import type { MemoryChanges, MemoryQueries } from "./tables.ts";

type Args<Operations, Name extends keyof Operations> = Operations[Name] extends (args: infer One) => unknown
  ? One
  : never;

const FACTS = `CREATE TABLE memory_facts (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, workspace TEXT NOT NULL,
  content TEXT NOT NULL, source TEXT NOT NULL, confidence REAL NOT NULL, created_at TEXT NOT NULL,
  UNIQUE (owner, workspace, content)
) STRICT`;

/** How each database finds words: its index, how well a row matches, and what a query looks like. */
const SEARCH = {
  sqlite: {
    table: `CREATE VIRTUAL TABLE memory_words USING fts5 (words, tokenize = 'unicode61 remove_diacritics 0')`,
    // bm25() is smaller for a better match.
    score: "-bm25(memory_words)",
    matches: "memory_words MATCH @any",
    any: (words: readonly string[]) => words.map((word) => `"${word}"`).join(" OR "),
  },
  postgres: {
    table: `CREATE TABLE memory_words (rowid BIGINT PRIMARY KEY, words TEXT NOT NULL);
      CREATE INDEX memory_by_word ON memory_words USING gin (to_tsvector('simple', words))`,
    score: "ts_rank(to_tsvector('simple', words), to_tsquery('simple', @any))",
    matches: "to_tsvector('simple', words) @@ to_tsquery('simple', @any)",
    any: (words: readonly string[]) => words.map((word) => `'${word}'`).join(" | "),
  },
} as const;

const module: TablesModule = {
  migrations: [
    {
      sqlite: `${FACTS}; ${SEARCH.sqlite.table}`,
      postgres: `${FACTS}; ${SEARCH.postgres.table}`,
    },
  ],
  open(database) {
    const search = SEARCH[database.kind ?? "sqlite"];
    const columns = "id, content, source, confidence, workspace, created_at";
    const insert = database.prepare(
      `INSERT INTO memory_facts (id, owner, workspace, content, source, confidence, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING seq`,
    );
    const index = database.prepare("INSERT INTO memory_words (rowid, words) VALUES (?, ?)");
    const same = database.prepare(
      `SELECT seq, ${columns} FROM memory_facts WHERE owner = ? AND workspace = ? AND content = ?`,
    );
    const find = database.prepare("SELECT seq FROM memory_facts WHERE owner = ? AND id = ?");
    const remove = database.prepare("DELETE FROM memory_facts WHERE seq = ?");
    const removeWords = database.prepare("DELETE FROM memory_words WHERE rowid = ?");
    const excess = database.prepare(
      "SELECT seq FROM memory_facts WHERE owner = ? ORDER BY seq DESC LIMIT -1 OFFSET ?",
    );
    const list = database.prepare(
      `SELECT ${columns} FROM memory_facts WHERE owner = ? ORDER BY seq DESC LIMIT ?`,
    );
    const recall = database.prepare(
      `SELECT ${columns}, ${search.score} * confidence AS score
       FROM memory_words JOIN memory_facts ON memory_facts.seq = memory_words.rowid
       WHERE ${search.matches} AND owner = @owner AND (@folder IS NULL OR workspace IN ('', @folder)
         OR substr(@folder, 1, length(workspace) + 1) = workspace || '/')
       ORDER BY score DESC, seq DESC LIMIT @limit`,
    );
    const drop = (seq: unknown) => {
      remove.run(seq);
      removeWords.run(seq);
    };
    return {
      changes: {
        remember({ owner, fact, words, limit }: Args<MemoryChanges, "remember">): MemoryFact {
          const known = same.get(owner, fact.workspace, fact.content);
          const kept = known === undefined ? fact : mergeFacts(factIn(known), fact);
          if (known !== undefined) drop(seqIn(known));
          const { id, workspace, content, source, confidence, created_at } = kept;
          const added = insert.get(id, owner, workspace, content, source, confidence, created_at);
          index.run(seqIn(added), words);
          for (const row of excess.all(owner, limit)) drop(seqIn(row));
          return kept;
        },
        forget({ owner, id }: Args<MemoryChanges, "forget">): boolean {
          const row = find.get(owner, id);
          if (row !== undefined) drop(seqIn(row));
          return row !== undefined;
        },
      },
      queries: {
        recall({ owner, words, workspace = "", limit }: Args<MemoryQueries, "recall">): RecalledFact[] {
          if (words.length === 0) return [];
          const folder = workspace === "" ? null : workspace;
          return recall
            .all({ any: search.any(words), owner, folder, limit })
            .map((row) => ({ ...factIn(row), score: Number(cell(row, "score")) }));
        },
        list: ({ owner, limit }: Args<MemoryQueries, "list">): MemoryFact[] =>
          list.all(owner, limit).map(factIn),
      },
    };
  },
};

export default module;

function factIn(row: unknown): MemoryFact {
  return {
    id: String(cell(row, "id")),
    content: String(cell(row, "content")),
    source: String(cell(row, "source")),
    confidence: Number(cell(row, "confidence")),
    workspace: String(cell(row, "workspace")),
    created_at: String(cell(row, "created_at")),
  };
}

function seqIn(row: unknown): unknown {
  return cell(row, "seq");
}

function cell(row: unknown, column: string): unknown {
  return typeof row === "object" && row !== null ? Reflect.get(row, column) : undefined;
}
