"""A healthy GPU as `nvidia-smi -q -x` describes it: one line a field, by a driver's age.

`@550-` or `@-549` ends a line that drivers from, or up to, that branch print.
"""

GPU = """\
product_name: {model}
product_brand: NVIDIA
product_architecture: {architecture}
display_mode: Requested functionality has been deprecated @575-
display_mode: Enabled @-574
display_attached: Yes @575-
display_active: Disabled
persistence_mode: Enabled
addressing_mode: None @530-
mig_mode @450-
  current_mig: {mig}
  pending_mig: {mig}
mig_devices: None
accounting_mode: Disabled
accounting_mode_buffer_size: 4000
driver_model
  current_dm: N/A
  pending_dm: N/A
serial: {serial}
uuid: {uuid}
pdi: 0x8820000000000001 @575-
minor_number: {minor}
vbios_version: 96.00.A5.00.1A
multigpu_board: No
board_id: 0x{minor:x}
board_part_number: 692-2G520-0282-001 @520-
gpu_part_number: 2335-895-A1
gpu_fru_part_number: N/A @530-
gpu_module_id: 2 @-554
platformInfo @555-
  chassis_serial_number: N/A
  slot_number: N/A
  tray_index: N/A
  host_id: N/A
  peer_type: N/A
  module_id: 2
  gpu_fabric_guid: N/A
inforom_version
  img_version: G520.0282.02.02
  oem_object: 2.1
  ecc_object: 7.16
  pwr_object: N/A
inforom_bbx_flush @550-
  latest_timestamp: N/A
  latest_duration: N/A
gpu_operation_mode
  current_gom: N/A
  pending_gom: N/A
c2c_mode: Disabled @550-
gpu_virtualization_mode
  virtualization_mode: Pass-Through
  host_vgpu_mode: N/A
  vgpu_heterogeneous_mode: N/A @550-
gpu_reset_status @530-554
  reset_required: No
  drain_and_reset_recommended: No
gpu_recovery_action: None @555-
gsp_firmware_version: {driver}
ibmnpu
  relaxed_ordering_mode: N/A
pci
  pci_bus: {bus}
  pci_device: {slot}
  pci_domain: {domain}
  pci_base_class: 3 @550-
  pci_sub_class: 2 @550-
  pci_device_id: {device}10DE
  pci_bus_id: {address}
  pci_sub_system_id: 18BF10DE
  pci_gpu_link_info
    pcie_gen
      max_link_gen: {generation}
      current_link_gen: {now}
      device_current_link_gen: {now} @530-
      max_device_link_gen: {generation} @530-
      max_host_link_gen: N/A @530-
    link_widths
      max_link_width: 16x
      current_link_width: 16x
  pci_bridge_chip
    bridge_chip_type: N/A
    bridge_chip_fw: N/A
  replay_counter: 0
  replay_rollover_counter: 0
  tx_util: 898 KB/s
  rx_util: 624 KB/s
  atomic_caps_outbound: N/A @530-
  atomic_caps_inbound: N/A @530-
fan_speed: N/A
performance_state: {state}
clocks_event_reasons
  clocks_event_reason_gpu_idle: {idle}
  clocks_event_reason_applications_clocks_setting: Not Active
  clocks_event_reason_sw_power_cap: Not Active
  clocks_event_reason_hw_slowdown: Not Active
  clocks_event_reason_hw_thermal_slowdown: Not Active
  clocks_event_reason_hw_power_brake_slowdown: Not Active
  clocks_event_reason_sync_boost: Not Active
  clocks_event_reason_sw_thermal_slowdown: Not Active
  clocks_event_reason_display_clocks_setting: Not Active
clocks_event_reasons_counters @555-
  clocks_event_reasons_counters_sw_power_cap: 0 us
  clocks_event_reasons_counters_sync_boost: 0 us
  clocks_event_reasons_counters_sw_therm_slowdown: 0 us
  clocks_event_reasons_counters_hw_therm_slowdown: 0 us
  clocks_event_reasons_counters_hw_power_brake: 0 us
sparse_operation_mode: Disabled @550-
fb_memory_usage
  total: {total} MiB
  reserved: 616 MiB
  used: {used} MiB
  free: {free} MiB
bar1_memory_usage
  total: 262144 MiB
  used: 1 MiB
  free: 262143 MiB
cc_protected_memory_usage @530-
  total: 0 MiB
  used: 0 MiB
  free: 0 MiB
compute_mode: Default
utilization
  gpu_util: {busy} %
  memory_util: {busy} %
  encoder_util: 0 %
  decoder_util: 0 %
  jpeg_util: 0 % @530-
  ofa_util: 0 % @530-
encoder_stats
  session_count: 0
  average_fps: 0
  average_latency: 0
fbc_stats
  session_count: 0
  average_fps: 0
  average_latency: 0
dram_encryption_mode @575-
  current_dram_encryption: N/A
  pending_dram_encryption: N/A
ecc_mode
  current_ecc: Enabled
  pending_ecc: Enabled
ecc_errors
  volatile
    sram_correctable: 0
    sram_uncorrectable: 0 @-549
    sram_uncorrectable_parity: 0 @550-
    sram_uncorrectable_secded: 0 @550-
    dram_correctable: 0
    dram_uncorrectable: 0
  aggregate
    sram_correctable: 0
    sram_uncorrectable: 0 @-549
    sram_uncorrectable_parity: 0 @550-
    sram_uncorrectable_secded: 0 @550-
    dram_correctable: 0
    dram_uncorrectable: 0
    sram_threshold_exceeded: No @550-
  aggregate_uncorrectable_sram_sources @550-
    sram_l2: 0
    sram_sm: 0
    sram_microcontroller: 0
    sram_pcie: 0
    sram_other: 0
  channel_repair_pending: No @575-
  tpc_repair_pending: No @575-
  unrepairable_memory: No @575-
retired_pages
  multiple_single_bit_retirement
    retired_count: N/A
    retired_pagelist: N/A
  double_bit_retirement
    retired_count: N/A
    retired_pagelist: N/A
  pending_blacklist: N/A
  pending_retirement: N/A
remapped_rows
  remapped_row_corr: 0
  remapped_row_corr_inactive: 0 @575-
  remapped_row_unc: 0
  remapped_row_unc_inactive: 0 @575-
  remapped_row_pending: No
  remapped_row_failure: No
  row_remapper_histogram
    row_remapper_histogram_max: 3072 bank(s)
    row_remapper_histogram_high: 0 bank(s)
    row_remapper_histogram_partial: 0 bank(s)
    row_remapper_histogram_low: 0 bank(s)
    row_remapper_histogram_none: 0 bank(s)
temperature
  gpu_temp: 38 C
  gpu_temp_tlimit: 49 C @530-
  gpu_temp_max_tlimit_threshold: -8 C
  gpu_temp_slow_tlimit_threshold: -2 C
  gpu_temp_max_gpu_tlimit_threshold: 0 C
  gpu_target_temperature: N/A
  memory_temp: {memory_temp}
  gpu_temp_max_mem_tlimit_threshold: 0 C
supported_gpu_target_temp
  gpu_target_temp_min: N/A
  gpu_target_temp_max: N/A
gpu_power_readings @530-
  power_state: {state}
  power_draw: 85.32 W @-554
  average_power_draw: 120.48 W @555-
  instant_power_draw: 85.32 W @555-
  current_power_limit: {watts}.00 W
  requested_power_limit: {watts}.00 W
  default_power_limit: {watts}.00 W
  min_power_limit: 200.00 W
  max_power_limit: {watts}.00 W
power_readings @-529
  power_state: {state}
  power_management: Supported
  power_draw: 85.32 W
  power_limit: {watts}.00 W
  default_power_limit: {watts}.00 W
  enforced_power_limit: {watts}.00 W
  min_power_limit: 200.00 W
  max_power_limit: {watts}.00 W
gpu_memory_power_readings @550-
  power_draw: N/A @-554
  average_power_draw: 38.59 W @555-
  instant_power_draw: N/A @555-
module_power_readings @530-
  power_state: {state}
  power_draw: N/A @-554
  average_power_draw: N/A @555-
  instant_power_draw: N/A @555-
  current_power_limit: N/A
  requested_power_limit: N/A
  default_power_limit: N/A
  min_power_limit: N/A
  max_power_limit: N/A
power_smoothing: N/A @555-
power_profiles @555-
  power_profile_requested_profiles: N/A
  power_profile_enforced_profiles: N/A
clocks
  graphics_clock: {clock} MHz
  sm_clock: {clock} MHz
  mem_clock: 3201 MHz
  video_clock: 765 MHz
applications_clocks
  graphics_clock: 1980 MHz
  mem_clock: 3201 MHz
default_applications_clocks
  graphics_clock: 1980 MHz
  mem_clock: 3201 MHz
deferred_clocks @530-
  mem_clock: N/A
max_clocks
  graphics_clock: 1980 MHz
  sm_clock: 1980 MHz
  mem_clock: 3201 MHz
  video_clock: 1545 MHz
max_customer_boost_clocks
  graphics_clock: 1980 MHz
clock_policy
  auto_boost: N/A
  auto_boost_default: N/A
fabric @530-
  state: {fabric[0]}
  status: {fabric[1]}
  cliqueId: {fabric[2]} @550-
  clusterUuid: {fabric[3]} @550-
  health @550-
    summary: N/A @575-
    bandwidth: N/A
    route_recovery_in_progress: N/A @575-
    route_unhealthy: N/A @575-
    access_timeout_recovery: N/A @575-
    incorrect_configuration: N/A @575-
    partition_assigned: N/A @575-
{clocks}
processes:
accounted_processes:
capabilities @575-
  egm: disabled
"""
