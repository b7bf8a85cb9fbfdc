import { boardOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/call.ts";
import { Code } from "../../design/code.tsx";
import { Panel } from "../../design/panel.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { PostForm } from "./post-form.tsx";

const LINES = 30;

/** The end of the board that everybody reads. */
export function BoardPanel() {
  const { data, error } = useQuery({
    queryKey: ["board"],
    queryFn: ({ signal }) => call(boardOperations.showBoard, { query: { lines: LINES }, signal }),
    refetchInterval: 10_000,
  });
  return (
    <Panel title="Board" className="min-w-0">
      {error ? (
        <div className="p-3">
          <Failure error={error} />
        </div>
      ) : !data ? (
        <Waiting what="Reading the board" />
      ) : data.lines.length === 0 ? (
        <Empty title="The board is empty">What concerns everybody is posted here, one line each.</Empty>
      ) : (
        <Code text={data.lines.join("\n")} className="max-h-80 rounded-none bg-transparent" />
      )}
      <PostForm />
    </Panel>
  );
}
