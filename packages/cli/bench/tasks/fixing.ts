// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files of tasks are code
import { blindTask, edit, list, read, run, runCheck, search, type Task, task } from "./task.ts";

const ASSERT = 'import assert from "node:assert/strict";\n';
/** More lines than a model is shown of a file at once. */
const LONG = Array.from({ length: 4_000 }, (_, at) => `export const value${at} = ${at}; // entry ${at}\n`);

/** Tasks in which something is broken. */
export const FIXING: readonly Task[] = [
  task("off by one", "range(1, 3) in range.mjs leaves out its last number. Repair it.", {
    files: {
      "range.mjs":
        "export function range(from, to) {\n  const all = [];\n  for (let n = from; n < to; n += 1) all.push(n);\n  return all;\n}\n",
    },
    check: `${ASSERT}import { range } from "./range.mjs";\nassert.deepEqual(range(1, 3), [1, 2, 3]);\nassert.deepEqual(range(4, 4), [4]);\n`,
    steps: [[read("range.mjs"), read("check.mjs")], [edit("range.mjs", "n < to", "n <= to")], [runCheck]],
  }),
  task("forgotten await", "save() in store.mjs reports success before anything is stored.", {
    files: {
      "store.mjs":
        "const stored = [];\nconst disk = async (line) => {\n  await null;\n  stored.push(line);\n};\nexport async function save(line) {\n  disk(line);\n  return stored.length;\n}\n",
    },
    check: `${ASSERT}import { save } from "./store.mjs";\nassert.equal(await save("a"), 1);\nassert.equal(await save("b"), 2);\n`,
    steps: [[read("store.mjs")], [edit("store.mjs", "  disk(line);", "  await disk(line);")], [runCheck]],
  }),
  task("wrong sort", "largest() in numbers.mjs thinks that 9 is more than 10.", {
    files: {
      "numbers.mjs": "export const largest = (numbers) => [...numbers].sort().at(-1);\n",
    },
    check: `${ASSERT}import { largest } from "./numbers.mjs";\nassert.equal(largest([9, 10, 1]), 10);\nassert.equal(largest([-5, -20]), -5);\nassert.equal(largest([]), undefined);\n`,
    steps: [
      [read("numbers.mjs")],
      [edit("numbers.mjs", ".sort()", ".sort((left, right) => left - right)")],
      [runCheck],
    ],
  }),
  task("shared default", "Two carts of cart.mjs share their items.", {
    files: {
      "cart.mjs":
        "const EMPTY = [];\nexport class Cart {\n  constructor(items = EMPTY) {\n    this.items = items;\n  }\n  add(item) {\n    this.items.push(item);\n    return this;\n  }\n}\n",
    },
    check: `${ASSERT}import { Cart } from "./cart.mjs";\nnew Cart().add("tea");\nassert.deepEqual(new Cart().add("milk").items, ["milk"]);\nconst given = ["a"];\nnew Cart(given).add("b");\nassert.deepEqual(given, ["a"]);\n`,
    steps: [
      [read("cart.mjs"), read("check.mjs")],
      [edit("cart.mjs", "this.items = items;", "this.items = [...items];")],
      [runCheck],
    ],
  }),
  task(
    "slow and wrong cache",
    "memo() in memo.mjs forgets what a function returned when that was undefined.",
    {
      files: {
        "memo.mjs":
          "export function memo(work) {\n  const known = new Map();\n  return (key) => {\n    if (known.get(key) === undefined) known.set(key, work(key));\n    return known.get(key);\n  };\n}\n",
      },
      check: `${ASSERT}import { memo } from "./memo.mjs";\nlet calls = 0;\nconst once = memo(() => void (calls += 1));\nonce("a");\nonce("a");\nassert.equal(calls, 1);\n`,
      steps: [
        [read("memo.mjs")],
        [edit("memo.mjs", "known.get(key) === undefined", "!known.has(key)")],
        [runCheck],
      ],
    },
  ),
  task("greedy pattern", "tags() in tags.mjs finds one long tag where there are two.", {
    files: { "tags.mjs": "export const tags = (text) => text.match(/<.+>/g) ?? [];\n" },
    check: `${ASSERT}import { tags } from "./tags.mjs";\nassert.deepEqual(tags("<a> and <b>"), ["<a>", "<b>"]);\nassert.deepEqual(tags("none"), []);\n`,
    steps: [[read("tags.mjs")], [edit("tags.mjs", "/<.+>/g", "/<[^>]+>/g")], [runCheck]],
  }),
  task(
    "three broken modules",
    "The checks of this folder fail; find out why, in all modules, and repair them.",
    {
      files: {
        "src/add.mjs": "export const add = (a, b) => a - b;\n",
        "src/twice.mjs": "export const twice = (a) => a * a;\n",
        "src/join.mjs": "export const join = (all) => all.join();\n",
      },
      check: `${ASSERT}import { add } from "./src/add.mjs";\nimport { join } from "./src/join.mjs";\nimport { twice } from "./src/twice.mjs";\nassert.equal(add(2, 3), 5);\nassert.equal(twice(3), 6);\nassert.equal(join(["a", "b"]), "ab");\n`,
      steps: [
        [list(), runCheck],
        [read("src/add.mjs"), read("src/twice.mjs"), read("src/join.mjs"), read("check.mjs")],
        [
          edit("src/add.mjs", "a - b", "a + b"),
          edit("src/twice.mjs", "a * a", "2 * a"),
          edit("src/join.mjs", "join()", 'join("")'),
        ],
        [runCheck],
      ],
    },
  ),
  blindTask("far down in a long file", "The constant value3900 in values.mjs should be 39. Change it.", {
    files: { "values.mjs": LONG.join("") },
    check: `${ASSERT}import * as values from "./values.mjs";\nassert.equal(values.value3900, 39);\nassert.equal(values.value3901, 3901);\nassert.equal(Object.keys(values).length, 4000);\n`,
    steps: [[search("value3900 =")], [edit("values.mjs", "value3900 = 3900;", "value3900 = 39;")]],
  }),
  task("an edit that does not fit", "greet() in greet.mjs should say the name. Repair it.", {
    files: { "greet.mjs": "export function greet(name) {\n  return `Hello, you!`;\n}\n" },
    check: `${ASSERT}import { greet } from "./greet.mjs";\nassert.equal(greet("Ann"), "Hello, Ann!");\n`,
    steps: [
      // A model that edits before it reads.
      [edit("greet.mjs", '"Hello, you!"', '"Hello, " + name')],
      [read("greet.mjs")],
      [edit("greet.mjs", "Hello, you!", "Hello, ${name}!")],
      [runCheck],
    ],
  }),
  task("a stack of errors", "main.mjs does not start. Repair it.", {
    files: {
      "main.mjs": 'import { shout } from "./lib/shuot.mjs";\nexport const message = shout(`tea`);\n',
      "lib/shout.mjs": "export const shout = (text) => text.toUppercase();\n",
    },
    check: `${ASSERT}import { message } from "./main.mjs";\nassert.equal(message, "TEA");\n`,
    steps: [
      [run("node main.mjs")],
      [list("lib"), read("main.mjs")],
      [edit("main.mjs", "shuot", "shout")],
      [run("node main.mjs")],
      [edit("lib/shout.mjs", "toUppercase", "toUpperCase")],
      [runCheck],
    ],
  }),
];
