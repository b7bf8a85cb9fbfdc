/** Tells a person something beside the result of a command. */
export type Notice = (message: string) => void;

/** Notices on stderr: a line for people, a JSON document for programs. */
export function noticeOnStderr(json: boolean | undefined): Notice {
  return (message) => {
    process.stderr.write(json ? `${JSON.stringify({ notice: { message } })}\n` : `reins: ${message}\n`);
  };
}
