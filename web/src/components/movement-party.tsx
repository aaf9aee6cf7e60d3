import { Fragment } from 'react'
import type { HistoryItem } from '@/lib/member'
import { Address } from './address'
import { ClippedName } from './clipped-name'
import { Reference } from './reference'

/** Who or what stands at the other end of a movement: a member, a pair, an address, a reference. */
export function MovementParty({ item }: { item: HistoryItem }) {
  if (item.transaction_type === 'pairing bonus' && item.pair_names) {
    return (
      <span>
        Pair {item.pair_number}:{' '}
        {item.pair_names
          .filter((name) => name !== null)
          .map((name, index) => (
            <Fragment key={name}>
              {index > 0 ? ', ' : null}
              <ClippedName name={name} />
            </Fragment>
          ))}
      </span>
    )
  }
  if (item.source === 'withdrawal' && item.wallet_address)
    return <Address value={item.wallet_address} short />
  if (item.source === 'deposit' && item.reference) return <Reference value={item.reference} short />
  if (!item.counterparty) return null
  return (
    <span>
      <ClippedName name={item.counterparty} />
      {item.pair_number === null ? '' : `, pair ${item.pair_number}`}
    </span>
  )
}
