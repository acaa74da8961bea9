// Comma-separated values after RFC 4180, and the download. Text that a spreadsheet would take for a formula gets an
// apostrophe in front; numbers stay numbers.

export type Cell = string | number | null;

/** Lines end with CR LF; a cell with a comma, a quote or a line break is quoted. */
export function csv(header: string[], lines: Iterable<Cell[]>): string {
  const text = [header.map(field).join(",")];
  for (const line of lines) text.push(line.map(field).join(","));
  return `${text.join("\r\n")}\r\n`;
}

function field(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const harmless = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replace(/"/g, '""')}"` : harmless;
}

/** Offers the text as a file. */
export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken the file by the time that timers run.
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
