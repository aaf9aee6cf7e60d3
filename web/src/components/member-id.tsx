import { Fragment } from 'react'

/** A member's id, in mono: a line may end after a hyphen, not inside a group. */
export function MemberId({ value }: { value: string }) {
  return (
    <span className="font-mono">
      {value.split(/(?<=-)/).map((group, place) => (
        <Fragment key={place}>
          {group}
          <wbr />
        </Fragment>
      ))}
    </span>
  )
}
