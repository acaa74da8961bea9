// How a series is distinguished from the others: colour class, marker, dash, so that a chart reads in black and white
// too. A subject has one look on the whole page; runs and variants of it differ in dash and in the filling of the
// marker.

import { px, svg } from "./dom";
import { type Model, type Row, unique } from "./model";
import { circumstanceOf } from "./series";

const COLOURS = 12;
const DASHES = ["", "7 3", "2 2.5", "9 3 2 3", "5 2 1 2 1 2"];

/** Corners in units of the radius, all of about the same area. The first is a circle. */
const SHAPES: [number, number][][] = [
  [],
  [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  [[0, -1.25], [1.15, 0.85], [-1.15, 0.85]],
  [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
  [[0, 1.25], [1.15, -0.85], [-1.15, -0.85]],
  [[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]],
  [[0, -1.3], [1.24, -0.4], [0.76, 1.05], [-0.76, 1.05], [-1.24, -0.4]],
];

/** Candidates have the first colours; the limits and the harness itself come last. */
const STANDINGS = ["candidate", "external", "limit", "null"];

const RADIUS = 3.4;

export interface Look {
  /** `s0` .. `s11`. */
  colour: string;
  /** The value of the attribute stroke-dasharray; empty for a solid line. */
  dash: string;
  shape: number;
  hollow: boolean;
}

/** Gives every series of the page its look. */
export class Looks {
  private readonly subjects: string[];
  private readonly others: string[];

  constructor(model: Model) {
    const byStanding = STANDINGS.flatMap((standing) => model.rows.filter((row) => row.standing === standing));
    this.subjects = unique([...byStanding, ...model.rows].map((row) => row.subject));
    // The plain ones first: they are the most, and have the plainest dashes.
    const isPlain = (row: Row): boolean => row.messages === null && row.workerKind === "";
    const plainFirst = [...model.rows.filter(isPlain), ...model.rows.filter((row) => !isPlain(row))];
    this.others = unique(plainFirst.map(circumstanceOf));
  }

  of(row: Row): Look {
    const subject = this.subjects.indexOf(row.subject);
    const other = this.others.indexOf(circumstanceOf(row));
    // One subject in several runs, such as a published table: then the runs have the colours.
    const [main, minor] = this.subjects.length === 1 ? [other, 0] : [subject, other];
    const round = Math.floor(main / COLOURS);
    return {
      colour: `s${main % COLOURS}`,
      // Where there are several runs only they decide the dash.
      dash: DASHES[(this.others.length > 1 && this.subjects.length > 1 ? minor : round) % DASHES.length] ?? "",
      shape: main % SHAPES.length,
      hollow: (minor + Math.floor(main / SHAPES.length)) % 2 === 1,
    };
  }
}

/** A marker at a place. */
export function marker(look: Look, x: number, y: number): SVGPathElement {
  const corners = SHAPES[look.shape] ?? [];
  let path = `M${px(x - RADIUS)} ${px(y)}a${RADIUS} ${RADIUS} 0 1 0 ${2 * RADIUS} 0a${RADIUS} ${RADIUS} 0 1 0 ${-2 * RADIUS} 0z`;
  if (corners.length > 0) {
    path = `${corners.map(([dx, dy], index) => `${index === 0 ? "M" : "L"}${px(x + dx * RADIUS)} ${px(y + dy * RADIUS)}`).join("")}z`;
  }
  return svg("path", { class: look.hollow ? "point hollow" : "point", d: path });
}

/** Line and marker as in a legend. */
export function sample(look: Look): SVGSVGElement {
  return svg(
    "svg",
    { viewBox: "0 0 26 12", "aria-hidden": "true" },
    svg(
      "g",
      { class: `series ${look.colour}` },
      svg("path", { class: "line", d: "M1 6H25", "stroke-dasharray": look.dash || undefined }),
      marker(look, 13, 6),
    ),
  );
}
