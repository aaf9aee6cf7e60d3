import { Reference } from '@/components/reference'
import { Change, type Fact } from '@/components/review-dialog'
import { Money } from '@/components/money'
import type { DecisionAction } from '@/components/requests/request'
import { RestNote } from '@/components/requests/row-note'
import { Button } from '@/components/ui/button'
import type { Package } from '@/lib/platform'
import type { AdminDeposit } from './admin-api'

function PackageStep({ deposit, packages }: { deposit: AdminDeposit; packages: Package[] }) {
  const { package_before: before, package_after: after } = deposit
  const told = (value: string) => {
    const name = packages.find((one) => one.value === value)?.label
    return name ? (
      <>
        {name} <Money value={value} />
      </>
    ) : (
      'No package'
    )
  }
  return before === after ? <>{told(before)}, unchanged</> : <Change from={told(before)} to={told(after)} />
}

/** Of the claimed transfer and of each rest that was sent. A reference that came after the list was read stands with the rest. */
export function referencesOf({ reference_number: first, further_references: further, rest }: AdminDeposit) {
  const last = rest?.reference_number
  return [first, ...further, ...(last && !further.includes(last) ? [last] : [])]
}

/** Each reference as a fact of its own. */
export function referenceFacts(deposit: AdminDeposit): Fact[] {
  return referencesOf(deposit).map((reference, index) => {
    const name = index > 1 ? `Reference of rest ${index}` : 'Reference of the rest'
    return {
      label: index === 0 ? 'Reference' : name,
      value: <Reference value={reference} copy />,
    }
  })
}

/** What is decided about, and what an approval would do, said before it is done. */
export function depositFacts(
  deposit: AdminDeposit,
  action: DecisionAction,
  packages: Package[],
  onReceipt: () => void,
): Fact[] {
  const effects: Fact[] = [
    { label: 'Package', value: <PackageStep deposit={deposit} packages={packages} /> },
    {
      label: 'Cash-in',
      value: (
        <Change
          from={<Money value={deposit.cash_in_before} />}
          to={<Money value={deposit.cash_in_after} />}
        />
      ),
    },
  ]
  return [
    {
      label: 'Member',
      value: (
        <>
          <span className="font-semibold">{deposit.display_name}</span> {deposit.username}
        </>
      ),
    },
    { label: 'Amount', value: <Money value={deposit.amount} className="font-semibold" /> },
    ...(action === 'approve' ? effects : []),
    ...(deposit.rest ? [{ label: 'Rest', value: <RestNote rest={deposit.rest} /> }] : []),
    ...referenceFacts(deposit),
    {
      label: 'Receipt',
      value: (
        <Button variant="link" size="text" className="pointer-coarse:-my-2.5" onClick={onReceipt}>
          View receipt
        </Button>
      ),
    },
  ]
}
