import { type ExpandedRef, graphOperations } from "@reins/api";
import { useState } from "react";
import type { z } from "zod";
import { useGet } from "../../../api/queries.ts";
import { Button } from "../../../design/button.tsx";
import { Code } from "../../../design/code.tsx";
import { Form, TextInput } from "../../../design/form.tsx";
import { count } from "../../../design/format.ts";
import { Loaded } from "../../../design/states.tsx";

type Expanded = z.infer<typeof ExpandedRef>;
type Part = z.input<(typeof graphOperations.expandRunRef)["body"]>;

/** As many lines as are fetched at once. */
const PAGE = 200;
const CONTEXT = 3;

/** A stored text of a run, closed at first; some lines of it at a time, or the places of a word. */
export function StoredText({
  run,
  reference,
  version,
  label,
}: {
  run: string;
  reference: string;
  /** Changes when the text may have changed. */
  version: string;
  label: string;
}) {
  const [part, setPart] = useState<Part>();
  const first = { ref: reference, from_line: 1, to_line: PAGE };
  if (!part)
    return (
      <Button className="self-start" onClick={() => setPart(first)}>
        Show {label}
      </Button>
    );
  return (
    <div className="flex flex-col gap-1.5">
      <PartForm onShow={(wanted) => setPart({ ...wanted, ref: reference })} />
      <ShownPart run={run} part={part} version={version} onPart={setPart} />
      <Button kind="quiet" className="self-start" onClick={() => setPart(undefined)}>
        Hide {label}
      </Button>
    </div>
  );
}

function ShownPart({
  run,
  part,
  version,
  onPart,
}: {
  run: string;
  part: Part;
  version: string;
  onPart: (part: Part) => void;
}) {
  const query = useGet(["run-texts", run, version, part], graphOperations.expandRunRef, {
    params: { id: run },
    body: part,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Loaded query={query} what="Loading the text">
      {({ text, lines, truncated }) => (
        <>
          <p className="flex flex-wrap items-center gap-1.5 text-2xs text-ink-faint">
            <span>{rangeText({ text, lines }, part.match)}</span>
            {part.match === undefined && lines.from > 1 && (
              <Button
                kind="quiet"
                className="h-6 text-2xs"
                onClick={() => onPart(linesFrom(part.ref, lines.from - PAGE))}
              >
                Earlier lines
              </Button>
            )}
            {part.match === undefined && lines.to < lines.total && (
              <Button
                kind="quiet"
                className="h-6 text-2xs"
                onClick={() => onPart(linesFrom(part.ref, lines.to + 1))}
              >
                Later lines
              </Button>
            )}
          </p>
          <Code text={text === "" ? "(empty)" : text} className="max-h-96" />
          {truncated && lines.from === 1 && lines.to === lines.total && (
            <p className="text-2xs text-warn">
              This is only the beginning: it is longer than one answer can be.
            </p>
          )}
        </>
      )}
    </Loaded>
  );
}

/** A request for a page of lines. */
export function linesFrom(ref: string, line: number): Part {
  const from_line = Math.max(1, line);
  return { ref, from_line, to_line: from_line + PAGE - 1 };
}

/** Which lines are shown. Where no line has what is looked for, the server returns the beginning. */
export function rangeText(
  { text, lines: { from, to, total } }: Pick<Expanded, "text" | "lines">,
  match: string | undefined,
): string {
  const range = `${count(from)} to ${count(to)} of ${count(total)}`;
  if (match === undefined) return `Lines ${range}`;
  const isFound = text.toLowerCase().includes(match.toLowerCase());
  return isFound ? `Matches within lines ${range}` : `No line has it. Lines ${range}`;
}

function PartForm({ onShow }: { onShow: (part: Omit<Part, "ref">) => void }) {
  const [line, setLine] = useState("");
  const [match, setMatch] = useState("");
  const show = () => {
    if (match !== "") onShow({ match, context_lines: CONTEXT });
    else {
      const { from_line, to_line } = linesFrom("", Number(line) || 1);
      onShow({ from_line, to_line });
    }
  };
  return (
    <Form onSubmit={show} className="flex flex-wrap items-end gap-1.5">
      <div className="w-24">
        <TextInput label="From line" type="number" min={1} value={line} onChange={setLine} />
      </div>
      <div className="min-w-32 flex-1">
        <TextInput label="or find" value={match} maxLength={1_000} onChange={setMatch} />
      </div>
      <Button type="submit">Show</Button>
    </Form>
  );
}
