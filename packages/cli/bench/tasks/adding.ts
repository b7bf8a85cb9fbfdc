// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files of tasks are code
import { blindTask, edit, list, read, run, runCheck, search, type Task, task, write } from "./task.ts";

const ASSERT = 'import assert from "node:assert/strict";\n';

/** Tasks in which something is missing. */
export const ADDING: readonly Task[] = [
  task("a new function", "Add clamp(value, low, high) to math.mjs.", {
    files: { "math.mjs": "export const half = (value) => value / 2;\n" },
    check: `${ASSERT}import { clamp, half } from "./math.mjs";\nassert.equal(clamp(5, 0, 3), 3);\nassert.equal(clamp(-5, 0, 3), 0);\nassert.equal(clamp(2, 0, 3), 2);\nassert.equal(half(4), 2);\n`,
    steps: [
      [read("math.mjs")],
      [
        write(
          "math.mjs",
          "export const half = (value) => value / 2;\nexport const clamp = (value, low, high) => Math.min(high, Math.max(low, value));\n",
        ),
      ],
      [runCheck],
    ],
  }),
  task(
    "a parser of CSV",
    "Write csv.mjs with parse(text): rows of fields; quoted fields hold commas and doubled quotes.",
    {
      files: { "README.md": "# Tables\n" },
      check: `${ASSERT}import { parse } from "./csv.mjs";\nassert.deepEqual(parse("a,b\\n1,2"), [["a", "b"], ["1", "2"]]);\nassert.deepEqual(parse('"a,b","say ""hi"""'), [["a,b", 'say "hi"']]);\n`,
      steps: [
        [read("check.mjs")],
        [
          write(
            "csv.mjs",
            'export function parse(text) {\n  return text.split("\\n").filter(Boolean).map((line) =>\n    [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) =>\n      quoted === undefined ? plain : quoted.replaceAll(\'""\', \'"\'),\n    ),\n  );\n}\n',
          ),
        ],
        [runCheck],
      ],
    },
  ),
  task(
    "a queue",
    "Write queue.mjs with a class Queue: push, shift and size; shift of an empty queue gives undefined.",
    {
      files: {},
      check: `${ASSERT}import { Queue } from "./queue.mjs";\nconst queue = new Queue();\nqueue.push(1);\nqueue.push(2);\nassert.equal(queue.size, 2);\nassert.equal(queue.shift(), 1);\nassert.equal(queue.shift(), 2);\nassert.equal(queue.shift(), undefined);\nassert.equal(queue.size, 0);\n`,
      steps: [
        [
          write(
            "queue.mjs",
            "export class Queue {\n  #items = [];\n  push(item) {\n    this.#items.push(item);\n  }\n  shift() {\n    return this.#items.shift();\n  }\n  get size() {\n    return this.#items.length;\n  }\n}\n",
          ),
        ],
        [runCheck],
      ],
    },
  ),
  blindTask(
    "tests for a module",
    "Write slug.test.mjs with at least three tests of slug.mjs that use node:test.",
    {
      files: {
        "slug.mjs":
          'export const slug = (title) => title.trim().toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");\n',
      },
      check: `${ASSERT}import { spawnSync } from "node:child_process";\nconst { NODE_TEST_CONTEXT, ...env } = process.env;\nconst { status, stdout } = spawnSync(process.execPath, ["--test", "--test-reporter=tap", "slug.test.mjs"], { encoding: "utf8", env });\nassert.equal(status, 0);\nassert.ok(Number(/^# pass (\\d+)/m.exec(stdout)?.[1]) >= 3, stdout);\n`,
      steps: [
        [read("slug.mjs")],
        [
          write(
            "slug.test.mjs",
            'import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport { slug } from "./slug.mjs";\n\ntest("words", () => assert.equal(slug("Hello World"), "hello-world"));\ntest("signs", () => assert.equal(slug(" a & b! "), "a-b"));\ntest("nothing", () => assert.equal(slug(""), ""));\n',
          ),
        ],
        [run("node --test slug.test.mjs")],
      ],
    },
  ),
  task(
    "an option",
    "format(price) in price.mjs should take a second argument, the currency, by default EUR.",
    {
      files: { "price.mjs": "export const format = (price) => `${price.toFixed(2)} EUR`;\n" },
      check: `${ASSERT}import { format } from "./price.mjs";\nassert.equal(format(1), "1.00 EUR");\nassert.equal(format(1.5, "USD"), "1.50 USD");\n`,
      steps: [
        [read("price.mjs")],
        [
          edit("price.mjs", "(price) =>", '(price, currency = "EUR") =>'),
          edit("price.mjs", "} EUR`", "} ${currency}`"),
        ],
        [runCheck],
      ],
    },
  ),
  task(
    "a command line",
    "Write count.mjs: it prints how many lines the file named by its first argument has.",
    {
      files: { "poem.txt": "one\ntwo\nthree\n" },
      check: `${ASSERT}import { execFileSync } from "node:child_process";\nassert.equal(execFileSync(process.execPath, ["count.mjs", "poem.txt"], { encoding: "utf8" }).trim(), "3");\n`,
      steps: [
        [list(), read("poem.txt")],
        [
          write(
            "count.mjs",
            'import { readFileSync } from "node:fs";\n\nconst text = readFileSync(process.argv[2], "utf8");\nconsole.log(text.split("\\n").filter((line) => line !== "").length);\n',
          ),
        ],
        [run("node count.mjs poem.txt"), runCheck],
      ],
    },
  ),
  task(
    "an interface of two parts",
    "shapes.mjs knows squares. Add circles, in circle.mjs, and use them in area().",
    {
      files: {
        "shapes.mjs":
          'import { square } from "./square.mjs";\n\nexport function area(shape) {\n  if (shape.kind === "square") return square(shape);\n  throw new Error(`unknown shape ${shape.kind}`);\n}\n',
        "square.mjs": "export const square = ({ side }) => side * side;\n",
      },
      check: `${ASSERT}import { area } from "./shapes.mjs";\nimport { circle } from "./circle.mjs";\nassert.equal(area({ kind: "square", side: 2 }), 4);\nassert.equal(area({ kind: "circle", radius: 1 }), Math.PI);\nassert.equal(circle({ radius: 0 }), 0);\nassert.throws(() => area({ kind: "line" }));\n`,
      steps: [
        [read("shapes.mjs"), read("square.mjs")],
        [
          write("circle.mjs", "export const circle = ({ radius }) => Math.PI * radius ** 2;\n"),
          edit(
            "shapes.mjs",
            "import { square }",
            'import { circle } from "./circle.mjs";\nimport { square }',
          ),
          edit("shapes.mjs", "  throw", '  if (shape.kind === "circle") return circle(shape);\n  throw'),
        ],
        [runCheck],
      ],
    },
  ),
  blindTask(
    "a setting",
    "Set strict to true and target to es2024 in the settings of this project; keep the rest.",
    {
      files: {
        "tsconfig.json":
          '{\n  "compilerOptions": {\n    "strict": false,\n    "module": "nodenext"\n  }\n}\n',
      },
      check: `${ASSERT}import { readFileSync } from "node:fs";\nconst { compilerOptions } = JSON.parse(readFileSync("tsconfig.json", "utf8"));\nassert.deepEqual({ ...compilerOptions, target: compilerOptions.target.toLowerCase() }, { strict: true, module: "nodenext", target: "es2024" });\n`,
      steps: [
        [list()],
        [read("tsconfig.json")],
        [edit("tsconfig.json", '"strict": false,', '"strict": true,\n    "target": "es2024",')],
      ],
    },
  ),
  blindTask(
    "documentation",
    "README.md describes no option of cli.mjs. Add a section Options with one line for each.",
    {
      files: {
        "README.md": "# Tea\n\nBrews tea.\n",
        "cli.mjs":
          'const OPTIONS = ["--hot", "--sweet", "--milk"];\nconsole.log(OPTIONS.includes(process.argv[2]));\n',
      },
      check: `${ASSERT}import { readFileSync } from "node:fs";\nconst text = readFileSync("README.md", "utf8");\nassert.match(text, /^#+ Options$/m);\nfor (const option of ["--hot", "--sweet", "--milk"]) assert.ok(text.includes(option), option);\nassert.ok(text.startsWith("# Tea"));\n`,
      steps: [
        [read("README.md"), read("cli.mjs")],
        [
          edit(
            "README.md",
            "Brews tea.\n",
            "Brews tea.\n\n## Options\n\n- `--hot`: hot tea\n- `--sweet`: with sugar\n- `--milk`: with milk\n",
          ),
        ],
      ],
    },
  ),
  task(
    "a limit",
    "retry(work) in retry.mjs goes on for ever. It should throw the last error after three attempts.",
    {
      files: {
        "retry.mjs":
          "export async function retry(work) {\n  for (;;) {\n    try {\n      return await work();\n    } catch {}\n  }\n}\n",
      },
      check: `${ASSERT}import { retry } from "./retry.mjs";\nlet calls = 0;\nawait assert.rejects(retry(async () => {\n  calls += 1;\n  if (calls > 5) return "too late";\n  throw new Error(\`no \${calls}\`);\n}), /no 3/);\nassert.equal(calls, 3);\nassert.equal(await retry(async () => "tea"), "tea");\n`,
      steps: [
        [search("retry"), read("retry.mjs"), read("check.mjs")],
        [
          write(
            "retry.mjs",
            "const ATTEMPTS = 3;\n\nexport async function retry(work) {\n  for (let attempt = 1; ; attempt += 1) {\n    try {\n      return await work();\n    } catch (error) {\n      if (attempt === ATTEMPTS) throw error;\n    }\n  }\n}\n",
          ),
        ],
        [runCheck],
      ],
    },
  ),
];
