import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Address } from '@/components/address'
import { PageBody } from '@/components/page-body'
import { PageContents } from '@/components/page-contents'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { SettingsSection } from '@/components/settings-section'
import { Skeleton } from '@/components/ui/skeleton'
import { NextStepNotice } from '@/features/dashboard/next-step-notice'
import { CloseSection } from '@/features/leaving/close-section'
import { DownloadSection } from '@/features/leaving/download-section'
import { MailSection } from '@/features/profiles/mail-section'
import { ThemeSection } from '@/features/profiles/theme-section'
import { WalletForm } from '@/features/profiles/wallet-form'
import { devicesQuery } from '@/features/security/api'
import { PasswordForm } from '@/features/security/password-form'
import { SessionsSection } from '@/features/security/sessions-section'
import { TwoStepSection } from '@/features/security/two-step-section'
import { memberQuery } from '@/lib/member'
import { paths } from '@/lib/paths'

function WalletSection() {
  const member = useQuery({ ...memberQuery, meta: { errorToast: 'Failed to load user data' } })
  return (
    <Region
      query={member}
      errorText="Failed to load user data"
      loadingText="Loading wallet"
      skeleton={<Skeleton className="h-32 w-full" />}
    >
      {(known) => (
        <>
          <WalletForm key={known.profile.trc20_wallet_address} profile={known.profile} />
          <NextStepNotice member={known} here={paths.settings} />
        </>
      )}
    </Region>
  )
}

const sections = [
  { id: 'wallet', title: 'Wallet', Content: WalletSection },
  { id: 'password', title: 'Password', Content: PasswordForm },
  { id: 'two-step', title: 'Two-step sign-in', Content: TwoStepSection },
  { id: 'sessions', title: 'Sessions', Content: SessionsSection },
  { id: 'theme', title: 'Theme', Content: ThemeSection },
  { id: 'mail', title: 'Email', Content: MailSection },
  { id: 'data', title: 'Your data', Content: DownloadSection },
  { id: 'close', title: 'Close account', Content: CloseSection },
]

/** The address that is paid to, and whether a code is asked for. */
function useStates(): Partial<Record<string, ReactNode>> {
  const wallet = useQuery(memberQuery).data?.profile.trc20_wallet_address
  const devices = useQuery(devicesQuery).data
  return {
    ...(wallet ? { wallet: <Address value={wallet} short /> } : {}),
    ...(devices ? { 'two-step': devices.length > 0 ? 'On' : 'Off' } : {}),
  }
}

/** Wallet, password, second factor, sessions, looks, one's own data: each part stands and fails alone. */
export default function SettingsPage() {
  const states = useStates()
  return (
    <PageBody className="flex flex-col gap-8">
      <PageHead title="Settings" purpose="Where you are paid, and how your account is kept safe." />
      <div className="flex justify-between gap-16">
        <div className="flex w-full max-w-[560px] min-w-0 flex-col gap-10">
          {sections.map(({ id, title, Content }) => (
            <SettingsSection key={id} id={id} title={title}>
              <Content />
            </SettingsSection>
          ))}
        </div>
        <PageContents entries={sections.map(({ id, title }) => ({ id, title, state: states[id] }))}>
          <p className="text-compact text-muted-foreground">
            After a change of wallet, email or password, and after a device is added or removed, withdrawals
            can be requested but are not approved for 24 hours.
          </p>
        </PageContents>
      </div>
    </PageBody>
  )
}
