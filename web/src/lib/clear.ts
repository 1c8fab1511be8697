// Texts of agents and of strangers' repositories, made safe to look at: no terminal escapes, no control characters, and
// none of the marks that turn the reading direction, with which "gpj.exe" shows as "exe.jpg".

/** What a terminal would obey: CSI …, OSC … (to BEL or ST, or the line's end), DCS/SOS/PM/APC … ST, two-character escapes, C1 CSI. */
export const ESCAPE =
  /\u001b\[[0-?]*[ -/]*[@-~]?|\u009b[0-?]*[ -/]*[@-~]?|\u001b\][^\u0007\u001b\n]*(?:\u0007|\u001b\\|(?=\n)|$)|\u001b[PX^_][^\u001b\n]*(?:\u001b\\|(?=\n)|$)|\u001b[ -/]*[0-~]?/g;
/** What has no shape of its own, but for the white space. */
const INVISIBLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Nothing is left of them: for output, which is full of them. */
export function withoutInvisible(text: string): string {
  return text.replace(INVISIBLE, "");
}

/** One sign for each: in a name or a sentence they are no accident, and a reader should see that something was there. */
export function clear(text: string): string {
  return text.replace(ESCAPE, "").replace(INVISIBLE, "\ufffd");
}

/** For `JSON.parse`: every text of the answer is clear. */
export const clearly = (_key: string, value: unknown): unknown => (typeof value === "string" ? clear(value) : value);
