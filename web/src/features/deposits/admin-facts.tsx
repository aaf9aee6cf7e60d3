import { Reference } from '@/components/reference'
import { Change, type Fact } from '@/components/review-dialog'
import { Money } from '@/components/money'
import { Button } from '@/components/ui/button'
import type { Package } from '@/lib/platform'
import type { AdminDeposit } from './admin-api'

function packageName(value: string, packages: Package[]): string {
  return packages.find((one) => one.value === value)?.label ?? 'None'
}

function PackageStep({ deposit, packages }: { deposit: AdminDeposit; packages: Package[] }) {
  const { package_before: before, package_after: after } = deposit
  const told = (value: string) => (
    <>
      {packageName(value, packages)} <Money value={value} />
    </>
  )
  return before === after ? <>{told(before)}, unchanged</> : <Change from={told(before)} to={told(after)} />
}

/** What an approval would do, said before it is done. */
export function depositFacts(deposit: AdminDeposit, packages: Package[], onReceipt: () => void): Fact[] {
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
    { label: 'Reference', value: <Reference value={deposit.reference_number} copy /> },
    {
      label: 'Receipt',
      value: (
        <Button variant="link" size="text" onClick={onReceipt}>
          View receipt
        </Button>
      ),
    },
  ]
}
