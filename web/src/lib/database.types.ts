export type Json = string | number | boolean | null | { [key: string]: Json | undefined } | Json[]

export type Database = {
  public: {
    Tables: {
      admin_sessions: {
        Row: {
          admin_id: string
          expires_at: string
          session_token: string
        }
        ComputedFields: never
        Insert: {
          admin_id: string
          expires_at: string
          session_token?: string
        }
        Update: {
          admin_id?: string
          expires_at?: string
          session_token?: string
        }
        Relationships: []
      }
      bonuses: {
        Row: {
          amount: number
          amount_cents: number | null
          bonus_type: Database['public']['Enums']['bonus_type']
          created_at: string
          id: string
          pair_number: number | null
          rate: number
          reentry_amount: number | null
          source_user_id: string
          subject_no: number
          user_id: string
          volume: number
        }
        ComputedFields: never
        Insert: {
          amount: number
          amount_cents?: never
          bonus_type: Database['public']['Enums']['bonus_type']
          created_at?: string
          id?: string
          pair_number?: number | null
          rate: number
          reentry_amount?: never
          source_user_id: string
          subject_no: number
          user_id: string
          volume: number
        }
        Update: {
          amount?: number
          amount_cents?: never
          bonus_type?: Database['public']['Enums']['bonus_type']
          created_at?: string
          id?: string
          pair_number?: number | null
          rate?: number
          reentry_amount?: never
          source_user_id?: string
          subject_no?: number
          user_id?: string
          volume?: number
        }
        Relationships: [
          {
            foreignKeyName: 'bonuses_source_user_id_fkey'
            columns: ['source_user_id']
            isOneToOne: false
            referencedRelation: 'profiles'
            referencedColumns: ['user_id']
          },
          {
            foreignKeyName: 'bonuses_user_id_fkey'
            columns: ['user_id']
            isOneToOne: false
            referencedRelation: 'profiles'
            referencedColumns: ['user_id']
          },
        ]
      }
      bot_subscriptions: {
        Row: {
          bot_name: string
          id: string
          mt5_login: string
          mt5_password_length: number | null
          mt5_server: string
          status: Database['public']['Enums']['subscription_status']
          subscribed_at: string
          updated_at: string
          user_id: string
        }
        ComputedFields: never
        Insert: {
          bot_name: string
          id?: string
          mt5_login: string
          mt5_password_length?: number | null
          mt5_server: string
          status?: Database['public']['Enums']['subscription_status']
          subscribed_at?: string
          updated_at?: string
          user_id: string
        }
        Update: {
          bot_name?: string
          id?: string
          mt5_login?: string
          mt5_password_length?: number | null
          mt5_server?: string
          status?: Database['public']['Enums']['subscription_status']
          subscribed_at?: string
          updated_at?: string
          user_id?: string
        }
        Relationships: [
          {
            foreignKeyName: 'bot_subscriptions_user_id_fkey'
            columns: ['user_id']
            isOneToOne: false
            referencedRelation: 'profiles'
            referencedColumns: ['user_id']
          },
        ]
      }
      deposits: {
        Row: {
          admin_notes: string | null
          amount: number
          created_at: string
          decided_at: string | null
          decided_by: string | null
          decision_no: number | null
          id: string
          kind: string
          receipt_url: string
          received_amount: number | null
          reference_key: string
          reference_number: string
          status: Database['public']['Enums']['request_status']
          user_id: string
          voided_at: string | null
        }
        ComputedFields: never
        Insert: {
          admin_notes?: string | null
          amount: number
          created_at?: string
          decided_at?: string | null
          decided_by?: string | null
          decision_no?: number | null
          id?: string
          kind: string
          receipt_url: string
          received_amount?: number | null
          reference_key: string
          reference_number: string
          status?: Database['public']['Enums']['request_status']
          user_id: string
          voided_at?: string | null
        }
        Update: {
          admin_notes?: string | null
          amount?: number
          created_at?: string
          decided_at?: string | null
          decided_by?: string | null
          decision_no?: number | null
          id?: string
          kind?: string
          receipt_url?: string
          received_amount?: number | null
          reference_key?: string
          reference_number?: string
          status?: Database['public']['Enums']['request_status']
          user_id?: string
          voided_at?: string | null
        }
        Relationships: [
          {
            foreignKeyName: 'deposits_user_id_fkey'
            columns: ['user_id']
            isOneToOne: false
            referencedRelation: 'profiles'
            referencedColumns: ['user_id']
          },
        ]
      }
      lesson_progress: {
        Row: {
          done_at: string
          lesson_id: string
          user_id: string
        }
        ComputedFields: never
        Insert: {
          done_at?: string
          lesson_id: string
          user_id: string
        }
        Update: {
          done_at?: string
          lesson_id?: string
          user_id?: string
        }
        Relationships: [
          {
            foreignKeyName: 'lesson_progress_user_id_fkey'
            columns: ['user_id']
            isOneToOne: false
            referencedRelation: 'profiles'
            referencedColumns: ['user_id']
          },
        ]
      }
      notifications: {
        Row: {
          amount: number | null
          body: string
          created_at: string
          id: string
          kind: string
          link: string | null
          read_at: string | null
          title: string
          user_id: string
        }
        ComputedFields: never
        Insert: {
          amount?: number | null
          body: string
          created_at?: string
          id?: string
          kind: string
          link?: string | null
          read_at?: string | null
          title: string
          user_id: string
        }
        Update: {
          amount?: number | null
          body?: string
          created_at?: string
          id?: string
          kind?: string
          link?: string | null
          read_at?: string | null
          title?: string
          user_id?: string
        }
        Relationships: [
          {
            foreignKeyName: 'notifications_user_id_fkey'
            columns: ['user_id']
            isOneToOne: false
            referencedRelation: 'profiles'
            referencedColumns: ['user_id']
          },
        ]
      }
      transactions: {
        Row: {
          amount: number
          balance_after: number | null
          created_at: string
          decision_no: number | null
          id: string
          reference_id: string
          status: Database['public']['Enums']['transaction_status']
          transaction_type: Database['public']['Enums']['transaction_type']
          user_id: string
        }
        ComputedFields: never
        Insert: {
          amount: number
          balance_after?: number | null
          created_at?: string
          decision_no?: number | null
          id?: string
          reference_id: string
          status: Database['public']['Enums']['transaction_status']
          transaction_type: Database['public']['Enums']['transaction_type']
          user_id: string
        }
        Update: {
          amount?: number
          balance_after?: number | null
          created_at?: string
          decision_no?: number | null
          id?: string
          reference_id?: string
          status?: Database['public']['Enums']['transaction_status']
          transaction_type?: Database['public']['Enums']['transaction_type']
          user_id?: string
        }
        Relationships: [
          {
            foreignKeyName: 'transactions_user_id_fkey'
            columns: ['user_id']
            isOneToOne: false
            referencedRelation: 'profiles'
            referencedColumns: ['user_id']
          },
        ]
      }
      withdrawals: {
        Row: {
          admin_notes: string | null
          amount: number
          created_at: string
          decided_at: string | null
          decided_by: string | null
          decision_no: number | null
          id: string
          payout_at: string | null
          payout_reference: string | null
          status: Database['public']['Enums']['request_status']
          user_id: string
          voided_at: string | null
          wallet_address: string
        }
        ComputedFields: never
        Insert: {
          admin_notes?: string | null
          amount: number
          created_at?: string
          decided_at?: string | null
          decided_by?: string | null
          decision_no?: number | null
          id?: string
          payout_at?: string | null
          payout_reference?: string | null
          status?: Database['public']['Enums']['request_status']
          user_id: string
          voided_at?: string | null
          wallet_address: string
        }
        Update: {
          admin_notes?: string | null
          amount?: number
          created_at?: string
          decided_at?: string | null
          decided_by?: string | null
          decision_no?: number | null
          id?: string
          payout_at?: string | null
          payout_reference?: string | null
          status?: Database['public']['Enums']['request_status']
          user_id?: string
          voided_at?: string | null
          wallet_address?: string
        }
        Relationships: [
          {
            foreignKeyName: 'withdrawals_user_id_fkey'
            columns: ['user_id']
            isOneToOne: false
            referencedRelation: 'profiles'
            referencedColumns: ['user_id']
          },
        ]
      }
    }
    Views: {
      profiles: {
        Row: {
          account_status: Database['public']['Enums']['account_status'] | null
          account_verified: boolean | null
          admin_notes: string | null
          available_balance: number | null
          cash_in_amount: number | null
          created_at: string
          display_name: string
          email: string | null
          id: string
          package_approved: boolean | null
          package_value: number
          referrer_id: string | null
          trc20_wallet_address: string | null
          user_id: string
          username: string
        }
        ComputedFields: never
        Insert: {
          account_status?: Database['public']['Enums']['account_status'] | null
          account_verified?: boolean | null
          admin_notes?: string | null
          available_balance?: number | null
          cash_in_amount?: number | null
          created_at?: string | null
          display_name?: string | null
          email?: string | null
          id?: string | null
          package_approved?: boolean | null
          package_value?: number | null
          referrer_id?: string | null
          trc20_wallet_address?: string | null
          user_id?: string | null
          username?: string | null
        }
        Update: {
          account_status?: Database['public']['Enums']['account_status'] | null
          account_verified?: boolean | null
          admin_notes?: string | null
          available_balance?: number | null
          cash_in_amount?: number | null
          created_at?: string | null
          display_name?: string | null
          email?: string | null
          id?: string | null
          package_approved?: boolean | null
          package_value?: number | null
          referrer_id?: string | null
          trc20_wallet_address?: string | null
          user_id?: string | null
          username?: string | null
        }
        Relationships: [
          {
            foreignKeyName: 'profiles_referrer_id_fkey'
            columns: ['referrer_id']
            isOneToOne: false
            referencedRelation: 'profiles'
            referencedColumns: ['id']
          },
        ]
      }
    }
    Functions: {
      acknowledge_alarm: { Args: { p_id: string; p_reason: string }; Returns: Json }
      add_deposit_reference: { Args: { p_id: string; p_reference: string }; Returns: Json }
      cancel_email_change: { Args: Record<PropertyKey, never>; Returns: Json }
      cancel_request: { Args: { p_id: string }; Returns: Json }
      change_setting: { Args: { p_key: string; p_value: Json }; Returns: Json }
      confirm_correction: { Args: { p_correction_id: string }; Returns: Json }
      confirm_test_mail: { Args: Record<PropertyKey, never>; Returns: Json }
      decide_deposit: {
        Args: { p_action: string; p_deposit_id: string; p_reason?: string; p_received_amount?: number }
        Returns: Json
      }
      decide_withdrawal: {
        Args: {
          p_action: string
          p_payout_reason?: string
          p_payout_reference?: string
          p_reason?: string
          p_shared_payout?: boolean
          p_withdrawal_id: string
        }
        Returns: Json
      }
      discard_correction: { Args: { p_correction_id: string }; Returns: Json }
      end_admin_sessions: { Args: { p_admin_id: string }; Returns: Json }
      end_other_sessions: { Args: Record<PropertyKey, never>; Returns: Json }
      end_session: { Args: { p_session_id: string }; Returns: Json }
      find_receipt: { Args: { p_receipt_url: string }; Returns: Json }
      get_admin_dashboard_stats: {
        Args: Record<PropertyKey, never>
        Returns: {
          active_users: number
          inactive_users: number
          pending_deposits: number
          pending_withdrawals: number
          total_bonuses_paid: number
          total_deposits: number
          total_package_investment: number
          total_users: number
          total_withdrawals: number
        }[]
      }
      get_admin_notices: { Args: { p_limit?: number }; Returns: Json }
      get_admin_overview: { Args: Record<PropertyKey, never>; Returns: Json }
      get_coverage: { Args: Record<PropertyKey, never>; Returns: Json }
      get_coverage_history: { Args: { p_days?: number }; Returns: Json }
      get_deposit_options: { Args: Record<PropertyKey, never>; Returns: Json }
      get_earnings: { Args: { p_range: string }; Returns: Json }
      get_email_change: { Args: Record<PropertyKey, never>; Returns: Json }
      get_flows: { Args: { p_range: string }; Returns: Json }
      get_income_disclosure: { Args: Record<PropertyKey, never>; Returns: Json }
      get_mail_choices: { Args: Record<PropertyKey, never>; Returns: Json }
      get_member: { Args: { p_profile_id: string }; Returns: Json }
      get_member_dashboard: { Args: Record<PropertyKey, never>; Returns: Json }
      get_my_account_status: { Args: Record<PropertyKey, never>; Returns: Json }
      get_my_sessions: { Args: Record<PropertyKey, never>; Returns: Json }
      get_network_summary: { Args: Record<PropertyKey, never>; Returns: Json }
      get_notifications: { Args: { p_before?: string; p_limit?: number }; Returns: Json }
      get_pairings: { Args: { p_after?: number; p_limit?: number }; Returns: Json }
      get_platform: { Args: Record<PropertyKey, never>; Returns: Json }
      get_readiness: { Args: Record<PropertyKey, never>; Returns: Json }
      get_request_changes: { Args: { p_ids: string[]; p_noun: string }; Returns: Json }
      get_sponsor: { Args: { p_referral_code: string }; Returns: Json }
      get_statement: { Args: { p_after?: number; p_limit?: number; p_month: string }; Returns: Json }
      get_team_growth: { Args: { p_range: string }; Returns: Json }
      get_team_tree: { Args: { p_after?: number; p_limit?: number; p_root?: string }; Returns: Json }
      get_transaction_history: {
        Args: {
          p_before?: string
          p_from?: string
          p_limit?: number
          p_status?: string
          p_to?: string
          p_type?: string
        }
        Returns: Json
      }
      get_user_bot_subscriptions: {
        Args: { p_user_id: string }
        Returns: {
          bot_name: string
          id: string
          mt5_login: string
          mt5_password_length: number | null
          mt5_server: string
          status: Database['public']['Enums']['subscription_status']
          subscribed_at: string
          updated_at: string
          user_id: string
        }[]
        SetofOptions: {
          from: '*'
          to: 'bot_subscriptions'
          isOneToOne: false
          isSetofReturn: true
        }
      }
      get_withdraw_options: { Args: Record<PropertyKey, never>; Returns: Json }
      is_username_available: { Args: { p_username: string }; Returns: boolean }
      leave_demo: { Args: Record<PropertyKey, never>; Returns: Json }
      list_administrators: { Args: Record<PropertyKey, never>; Returns: Json }
      list_alarms: { Args: { p_filters?: Json }; Returns: Json }
      list_audit: { Args: { p_filters?: Json }; Returns: Json }
      list_corrections: { Args: Record<PropertyKey, never>; Returns: Json }
      list_deposits: { Args: { p_filters?: Json }; Returns: Json }
      list_jobs: { Args: Record<PropertyKey, never>; Returns: Json }
      list_members: { Args: { p_filters?: Json }; Returns: Json }
      list_settings: { Args: Record<PropertyKey, never>; Returns: Json }
      list_subscriptions: { Args: { p_filters?: Json }; Returns: Json }
      list_transactions: { Args: { p_filters?: Json }; Returns: Json }
      list_withdrawals: { Args: { p_filters?: Json }; Returns: Json }
      mark_admin_notices_read: { Args: Record<PropertyKey, never>; Returns: Json }
      mark_notifications_read: { Args: { p_ids?: string[] }; Returns: Json }
      note_export: { Args: { p_filters: Json; p_list: string }; Returns: Json }
      propose_correction: {
        Args: { p_kind: string; p_reason: string; p_target_id: string; p_value: number }
        Returns: Json
      }
      rebuild_counters: { Args: { p_reason: string }; Returns: Json }
      reset_two_step: { Args: { p_admin_id: string; p_reason: string }; Returns: Json }
      restore_member: { Args: { p_profile_id: string; p_reason: string }; Returns: Json }
      retry_mail: { Args: { p_id: number }; Returns: Json }
      search_team: { Args: { p_search: string }; Returns: Json }
      send_test_mail: { Args: Record<PropertyKey, never>; Returns: Json }
      set_mail_choice: { Args: { p_topic: string; p_wanted: boolean }; Returns: Json }
      start_factor_removal: { Args: { p_profile_id: string; p_reason: string }; Returns: Json }
      start_member_closing: {
        Args: { p_confirmed: boolean; p_profile_id: string; p_reason: string }
        Returns: Json
      }
      start_member_data_download: { Args: { p_profile_id: string; p_reason: string }; Returns: Json }
      sync_bonuses: { Args: Record<PropertyKey, never>; Returns: Json }
      touch_admin_session: { Args: Record<PropertyKey, never>; Returns: Json }
      update_administrator: {
        Args: { p_admin_id: string; p_full_name: string; p_is_active: boolean; p_role: string }
        Returns: Json
      }
      update_member: {
        Args: { p_account_status: string; p_admin_notes: string; p_profile_id: string; p_reason: string }
        Returns: Json
      }
      update_subscription: {
        Args: { p_reason: string; p_status: string; p_subscription_id: string }
        Returns: Json
      }
    }
    Enums: {
      account_status: 'active' | 'pending' | 'suspended' | 'disabled'
      admin_role: 'super_admin' | 'finance_admin' | 'support_admin'
      bonus_type: 'referral' | 'pairing' | 'override'
      request_status: 'pending' | 'approved' | 'rejected'
      subscription_status: 'active' | 'suspended' | 'cancelled'
      transaction_status: 'completed' | 'pending' | 'failed'
      transaction_type: 'deposit' | 'withdrawal' | 'bonus'
    }
    CompositeTypes: {
      [_ in never]: never
    }
  }
}

type DatabaseWithoutInternals = Omit<Database, '__InternalSupabase'>

type DefaultSchema = DatabaseWithoutInternals[Extract<keyof Database, 'public'>]

export type Tables<
  DefaultSchemaTableNameOrOptions extends
    keyof (DefaultSchema['Tables'] & DefaultSchema['Views']) | { schema: keyof DatabaseWithoutInternals },
  TableName extends (DefaultSchemaTableNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  }
    ? keyof (DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions['schema']]['Tables'] &
        DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions['schema']]['Views'])
    : never) = never,
> = DefaultSchemaTableNameOrOptions extends { schema: keyof DatabaseWithoutInternals }
  ? (DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions['schema']]['Tables'] &
      DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions['schema']]['Views'])[TableName] extends {
      Row: infer R
    }
    ? R
    : never
  : DefaultSchemaTableNameOrOptions extends keyof (DefaultSchema['Tables'] & DefaultSchema['Views'])
    ? (DefaultSchema['Tables'] & DefaultSchema['Views'])[DefaultSchemaTableNameOrOptions] extends {
        Row: infer R
      }
      ? R
      : never
    : never

export type TablesInsert<
  DefaultSchemaTableNameOrOptions extends
    keyof DefaultSchema['Tables'] | { schema: keyof DatabaseWithoutInternals },
  TableName extends (DefaultSchemaTableNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  }
    ? keyof DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions['schema']]['Tables']
    : never) = never,
> = DefaultSchemaTableNameOrOptions extends { schema: keyof DatabaseWithoutInternals }
  ? DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions['schema']]['Tables'][TableName] extends {
      Insert: infer I
    }
    ? I
    : never
  : DefaultSchemaTableNameOrOptions extends keyof DefaultSchema['Tables']
    ? DefaultSchema['Tables'][DefaultSchemaTableNameOrOptions] extends {
        Insert: infer I
      }
      ? I
      : never
    : never

export type TablesUpdate<
  DefaultSchemaTableNameOrOptions extends
    keyof DefaultSchema['Tables'] | { schema: keyof DatabaseWithoutInternals },
  TableName extends (DefaultSchemaTableNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  }
    ? keyof DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions['schema']]['Tables']
    : never) = never,
> = DefaultSchemaTableNameOrOptions extends { schema: keyof DatabaseWithoutInternals }
  ? DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions['schema']]['Tables'][TableName] extends {
      Update: infer U
    }
    ? U
    : never
  : DefaultSchemaTableNameOrOptions extends keyof DefaultSchema['Tables']
    ? DefaultSchema['Tables'][DefaultSchemaTableNameOrOptions] extends {
        Update: infer U
      }
      ? U
      : never
    : never

export type Enums<
  DefaultSchemaEnumNameOrOptions extends
    keyof DefaultSchema['Enums'] | { schema: keyof DatabaseWithoutInternals },
  EnumName extends (DefaultSchemaEnumNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  }
    ? keyof DatabaseWithoutInternals[DefaultSchemaEnumNameOrOptions['schema']]['Enums']
    : never) = never,
> = DefaultSchemaEnumNameOrOptions extends { schema: keyof DatabaseWithoutInternals }
  ? DatabaseWithoutInternals[DefaultSchemaEnumNameOrOptions['schema']]['Enums'][EnumName]
  : DefaultSchemaEnumNameOrOptions extends keyof DefaultSchema['Enums']
    ? DefaultSchema['Enums'][DefaultSchemaEnumNameOrOptions]
    : never

export type CompositeTypes<
  PublicCompositeTypeNameOrOptions extends
    keyof DefaultSchema['CompositeTypes'] | { schema: keyof DatabaseWithoutInternals },
  CompositeTypeName extends (PublicCompositeTypeNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  }
    ? keyof DatabaseWithoutInternals[PublicCompositeTypeNameOrOptions['schema']]['CompositeTypes']
    : never) = never,
> = PublicCompositeTypeNameOrOptions extends { schema: keyof DatabaseWithoutInternals }
  ? DatabaseWithoutInternals[PublicCompositeTypeNameOrOptions['schema']]['CompositeTypes'][CompositeTypeName]
  : PublicCompositeTypeNameOrOptions extends keyof DefaultSchema['CompositeTypes']
    ? DefaultSchema['CompositeTypes'][PublicCompositeTypeNameOrOptions]
    : never

export const Constants = {
  public: {
    Enums: {
      account_status: ['active', 'pending', 'suspended', 'disabled'],
      admin_role: ['super_admin', 'finance_admin', 'support_admin'],
      bonus_type: ['referral', 'pairing', 'override'],
      request_status: ['pending', 'approved', 'rejected'],
      subscription_status: ['active', 'suspended', 'cancelled'],
      transaction_status: ['completed', 'pending', 'failed'],
      transaction_type: ['deposit', 'withdrawal', 'bonus'],
    },
  },
} as const
