import { crc32, deflateRawSync } from "node:zlib";
import { tarOf as tarOfParts } from "../../kit/test/tar.ts";

/** A member of an archive: as a test wants it, sound or not. */
export interface TestMember {
  readonly name: string;
  readonly text?: string;
  /** In octal digits. */
  readonly mode?: string;
  /** The type of tar: 0 is a file, 2 a symbolic link, 5 a folder. */
  readonly type?: string;
  readonly target?: string;
  /** A size other than that of the text. */
  readonly size?: number;
}

/** A tar archive with its end. */
export function tarOf(members: readonly TestMember[]): Buffer {
  const parts = members.map(({ name, text = "", mode = "755", type = "0", target = "", size }) => ({
    ...{ name, type, content: text, link: target, mode: Number.parseInt(mode, 8) },
    ...(size !== undefined && { size }),
  }));
  return tarOfParts(...parts);
}

/** A zip archive, its members compressed; the mode of each is that of Unix. */
export function zipOf(members: readonly TestMember[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, text = "", mode = "755", type = "0", target, size } of members) {
    const content = Buffer.from(target ?? text);
    const packed = deflateRawSync(content);
    const kind = type === "2" ? 0o120000 : type === "5" ? 0o040000 : 0o100000;
    const about = Buffer.alloc(26);
    about.writeUInt16LE(20, 0);
    about.writeUInt16LE(8, 4);
    about.writeUInt32LE(crc32(content), 10);
    about.writeUInt32LE(packed.length, 14);
    about.writeUInt32LE(size ?? content.length, 18);
    about.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), about, Buffer.from(name), packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE((kind | Number.parseInt(mode, 8)) * 2 ** 16, 6);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x03"), about, rest, Buffer.from(name)]));
    locals.push(local);
    offset += local.length;
  }
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  const central = Buffer.concat(directory);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, central, end]);
}
