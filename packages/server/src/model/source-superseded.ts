/** Another process drives a source, or it was paused or rewound: what this process had of it is not stored. */
export class SourceSuperseded extends Error {
  override readonly name = "SourceSuperseded"
}
