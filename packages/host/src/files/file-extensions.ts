import { CODE, type JsonObject, RpcError } from "@reins/acp";
import { quotaRpcError } from "../sessions/sessions.ts";
import type { FileCaller } from "./caller-access.ts";
import { rpcFault } from "./file-fault.ts";
import type { FileService, FoundEntry } from "./file-service.ts";

/** The methods of ACP by which clients use files, by the capability that announces each. */
export const FILE_EXTENSIONS = {
  fsListEntries: "_sandboxagent/fs/list_entries",
  fsReadFile: "_sandboxagent/fs/read_file",
  fsWriteFile: "_sandboxagent/fs/write_file",
  fsDeleteEntry: "_sandboxagent/fs/delete_entry",
  fsMkdir: "_sandboxagent/fs/mkdir",
  fsMove: "_sandboxagent/fs/move",
  fsStat: "_sandboxagent/fs/stat",
  fsUploadBatch: "_sandboxagent/fs/upload_batch",
} as const;

/** The largest content in a message; larger files go over HTTP. */
const MOST_BYTES = 8 * 1024 * 1024;
const MOST_ENTRIES = 10_000;

type Serve = (files: FileService, caller: FileCaller, params: JsonObject) => Promise<object>;

const SERVED: Readonly<Record<string, Serve>> = {
  [FILE_EXTENSIONS.fsListEntries]: async (files, caller, { path }) => {
    const entries: FoundEntry[] = [];
    for await (const entry of files.list(caller, path === undefined ? "." : textIn({ path }, "path"))) {
      entries.push(entry);
      if (entries.length === MOST_ENTRIES) return { entries, truncated: true };
    }
    return { entries };
  },
  [FILE_EXTENSIONS.fsReadFile]: async (files, caller, params) => {
    const file = await files.open(caller, textIn(params, "path"));
    const { path, size } = file;
    if (size > MOST_BYTES) {
      await file.close();
      throw new RpcError(
        CODE.invalidParams,
        `${path} has more than ${MOST_BYTES} bytes: read it from /v1/fs/file`,
      );
    }
    if (size === 0) await file.close();
    const chunks: Buffer[] = size === 0 ? [] : await file.stream(0, size - 1).toArray();
    return { path, size, contentBase64: Buffer.concat(chunks).toString("base64") };
  },
  [FILE_EXTENSIONS.fsWriteFile]: async (files, caller, params) => {
    const content = bytesIn(params);
    return files.write(caller, textIn(params, "path"), oneChunk(content), { bytes: content.length });
  },
  [FILE_EXTENSIONS.fsDeleteEntry]: (files, caller, params) =>
    files.remove(caller, textIn(params, "path"), { recursive: params.recursive === true }),
  [FILE_EXTENSIONS.fsMkdir]: (files, caller, params) => files.makeFolder(caller, textIn(params, "path")),
  [FILE_EXTENSIONS.fsMove]: (files, caller, params) =>
    files.move(caller, {
      from: textIn(params, "from"),
      to: textIn(params, "to"),
      overwrite: params.overwrite === true,
    }),
  [FILE_EXTENSIONS.fsStat]: async (files, caller, params) => {
    const { name: _, ...stat } = await files.stat(caller, textIn(params, "path"));
    return stat;
  },
  [FILE_EXTENSIONS.fsUploadBatch]: (files, caller, params) =>
    files.upload(
      caller,
      params.path === undefined ? undefined : textIn(params, "path"),
      oneChunk(bytesIn(params)),
    ),
};

/** Answers a request of a client about files. */
export async function serveFileMethod(
  files: FileService,
  caller: Omit<FileCaller, "session">,
  method: string,
  params: JsonObject,
): Promise<JsonObject> {
  const { sessionId: session } = params;
  if (session !== undefined && typeof session !== "string")
    throw new RpcError(CODE.invalidParams, "a sessionId is a text");
  try {
    const served = await SERVED[method]?.(files, { ...caller, session }, params);
    return { ...served };
  } catch (error) {
    throw rpcFault(quotaRpcError(error));
  }
}

async function* oneChunk(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}

function textIn(params: JsonObject, name: string): string {
  const value = params[name];
  if (typeof value === "string") return value;
  throw new RpcError(CODE.invalidParams, `"${name}" is needed, a text`);
}

function bytesIn(params: JsonObject): Buffer {
  const text = textIn(params, "contentBase64");
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text))
    throw new RpcError(CODE.invalidParams, "contentBase64 is not base64");
  return Buffer.from(text, "base64");
}
