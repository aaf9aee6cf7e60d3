import { useQuery } from '@tanstack/react-query'
import { PageBody } from '@/components/page-body'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { SettingsSection } from '@/components/settings-section'
import { Skeleton } from '@/components/ui/skeleton'
import { ExportSection } from '@/features/profiles/export-section'
import { MailSection } from '@/features/profiles/mail-section'
import { ThemeSection } from '@/features/profiles/theme-section'
import { WalletForm } from '@/features/profiles/wallet-form'
import { PasswordForm } from '@/features/security/password-form'
import { TwoStepSection } from '@/features/security/two-step-section'
import { memberQuery } from '@/lib/member'

/** Wallet, password, second factor, looks, one's own data: each part stands and fails alone. */
export default function SettingsPage() {
  const member = useQuery({ ...memberQuery, meta: { errorToast: 'Failed to load user data' } })
  return (
    <PageBody className="flex flex-col gap-8">
      <PageHead title="Settings" purpose="Where you are paid, and how your account is kept safe." />
      <div className="flex w-full max-w-[560px] flex-col gap-10">
        <SettingsSection id="wallet" title="Wallet">
          <Region
            query={member}
            errorText="Failed to load user data"
            loadingText="Loading wallet"
            skeleton={<Skeleton className="h-32 w-full" />}
          >
            {({ profile }) => <WalletForm key={profile.trc20_wallet_address} profile={profile} />}
          </Region>
        </SettingsSection>
        <SettingsSection id="password" title="Password">
          <PasswordForm />
        </SettingsSection>
        <SettingsSection id="two-step" title="Two-step sign-in">
          <TwoStepSection />
        </SettingsSection>
        <SettingsSection id="theme" title="Theme">
          <ThemeSection />
        </SettingsSection>
        <SettingsSection id="mail" title="Email">
          <MailSection />
        </SettingsSection>
        <SettingsSection id="data" title="Your data">
          <ExportSection />
        </SettingsSection>
      </div>
    </PageBody>
  )
}
